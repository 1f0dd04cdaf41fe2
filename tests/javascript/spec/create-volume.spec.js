/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may
 * not use this file except in compliance with the License. You may obtain
 * a copy of the License at
 *
 *      http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
 * WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
 * License for the specific language governing permissions and limitations
 * under the License.
 */

'use strict';

const volumeForm = require('./volume-form');

describe('The Create Volume form', () => {
  const form = volumeForm.create();
  const open = form.open;
  const $ = (selector) => form.$(selector);

  beforeEach(form.reset);

  it('shows what is made by default', () => {
    open();
    expect(form.isHidden()).toBe(false);
    expect(form.preview())
      .toBe('8 GiB = 2,048 objects of 4 MiB, with object map');
    expect(form.blank('rbd_object_size'))
      .toBe('Default: 4 MiB (set by the back end)');
    expect(form.blank('rbd_object_map'))
      .toBe('Default: yes (set by the volume type)');
    expect(form.blank('rbd_stripe_unit'))
      .toBe('Default: depends on the back end');
    expect($('[data-rbd-help]').text())
      .toContain('writes over more disks. Default: depends on the back end');
  });

  it('shows what is chosen', () => {
    open();
    form.fill('rbd_object_size', '1M');
    form.fill('rbd_stripe_unit', '64K');
    form.fill('rbd_stripe_count', '8');
    form.fill('rbd_object_map', 'false');
    expect(form.preview()).toBe(
      '8 GiB = 8,192 objects of 1 MiB, 64 KiB x 8, without object map');
    expect(form.isRefused()).toBe(false);
  });

  it('says nothing about a size that is none', () => {
    open();
    form.fill('rbd_stripe_unit', '64K');
    form.fill('size', '');
    expect(form.preview()).toBe('');
    expect(form.isRefused()).toBe(false);
  });

  const REFUSED = [
    ['Stripe unit and stripe count must be set together.', {rbd_stripe_unit: '64K'}],
    ['The stripe unit is larger than the object size.',
      {rbd_stripe_unit: '8M', rbd_stripe_count: '2'}],
    ['The maximum stripe count is 64.',
      {rbd_stripe_unit: '64K', rbd_stripe_count: '65'}],
    ['8 GiB is not a multiple of 64 KiB x 3.',
      {rbd_stripe_unit: '64K', rbd_stripe_count: '3'}],
    ['The minimum object size is 64 KiB.', {rbd_object_size: '32K'}],
    ['The volume would have more than 16,777,216 objects. Choose a larger ' +
      'object size.', {rbd_object_size: '64K', size: '1025'}],
    ['An object map is limited to 256,000,000 objects. Choose a larger ' +
      'object size, or disable the object map.', {size: '1000001'}]
  ];
  for (const [text, values] of REFUSED) {
    it(`says: ${text}`, () => {
      open();
      for (const name of Object.keys(values)) {
        form.fill(name, values[name]);
      }
      expect(form.preview()).toBe(text);
      expect(form.isRefused()).toBe(true);
    });
  }

  it('compares codes, in whatever language it speaks', () => {
    open(null, {gettext: (text) => `<${text}>`});
    expect(form.blank('rbd_object_size'))
      .toBe('<Default: 4 MiB (<set by the back end>)>');
    form.fill('image_source', 'i1');
    expect(form.blank('rbd_object_size'))
      .toBe('<Default: 4 MiB (<set by the back end>)>');
    form.fill('rbd_stripe_unit', '8M');
    form.fill('rbd_stripe_count', '2');
    expect(form.preview())
      .toBe('<The stripe unit is larger than the object size.>');
  });

  it('does not know what an image has where Ceph decides', () => {
    open((options) => {
      options['rbd:object_size'].default_from = 'cluster';
    });
    expect(form.blank('rbd_object_size')).toBe('Default: 4 MiB (set by Ceph)');
    form.fill('image_source', 'i1');
    expect(form.blank('rbd_object_size')).toBe('Default: same as the image');
    expect(form.preview()).toBe(
      "8 GiB in objects of Ceph's default size, with object map");
  });

  it('has the type and the layout of a source', (done) => {
    open();
    form.fill('type', 'fake');
    expect(form.isHidden()).toBe(true);
    form.fill('volume_source_type', 'volume_source');
    form.fill('volume_source', 'v1');
    expect(form.asked).toEqual(['/sources/volume/v1/']);
    form.answered(() => {
      expect(form.isHidden()).toBe(false);
      expect(form.blank('rbd_object_size'))
        .toBe('Default: 8 MiB (same as the source)');
      // The source's own striping is not held to the rule of whole stripes.
      expect(form.preview()).toContain('objects of 8 MiB, 64 KiB x 3');
      expect(form.isRefused()).toBe(false);
      // The type's default overrides the source.
      expect(form.blank('rbd_object_map'))
        .toBe('Default: yes (set by the volume type)');
      done();
    });
  });

  it('can have smaller objects than a source without striping', (done) => {
    form.answer.made = Object.assign({}, volumeForm.MADE, {
      stripe_unit: volumeForm.MADE.object_size, stripe_count: 1
    });
    open();
    form.fill('snapshot_source', 's1');
    form.fill('rbd_object_size', '1M');
    expect(form.asked).toEqual(['/sources/snapshot/s1/']);
    form.answered(() => {
      expect(form.preview()).toContain('8,192 objects of 1 MiB');
      expect(form.isRefused()).toBe(false);
      done();
    });
  });

  it('turns off units above the object size', () => {
    open();
    form.fill('rbd_object_size', '1M');
    const off = $('[name="rbd_stripe_unit"] option:disabled')
      .map((_, each) => each.value).get();
    expect(off).toEqual(['2M', '4M', '8M', '16M', '32M']);
  });

  it('ticks the features that others require', () => {
    open();
    form.tick('rbd_choose_features');
    expect(form.ticked())
      .toEqual(['layering', 'exclusive-lock', 'object-map', 'fast-diff']);
    expect($('[data-rbd-key="rbd:object_map"]').prop('hidden')).toBe(true);
    form.tick('rbd_features', 'exclusive-lock');
    expect(form.ticked()).toEqual(['layering']);
    expect(form.preview()).toContain('without object map');
  });

  it('says that nothing is striped by default, and who decided it', () => {
    open((options) => {
      options['rbd:stripe_unit'].default_from = 'cluster';
      options['rbd:stripe_count'].default = 8;
      options['rbd:stripe_count'].default_from = 'backend';
    });
    expect(form.blank('rbd_stripe_unit'))
      .toBe('Default: no striping (set by Ceph)');
    expect($('[data-rbd-help]').text())
      .toContain('writes over more disks. Default: 8 (set by the back end)');
  });

  it('has the help of fields and the sizes of all types', () => {
    open();
    const values = (name) => $(`[name="${name}"] option`).get()
      .map((each) => each.value);
    // The other type allows smaller objects.
    expect(values('rbd_object_size').slice(0, 3)).toEqual(['', '4K', '8K']);
    expect(values('rbd_object_size').pop()).toBe('32M');
    expect(values('rbd_stripe_unit').slice(0, 3)).toEqual(['', '512', '1K']);
    expect($('option[value="4M"]').first().text()).toBe('4 MiB');
    $('.checkbox').each((_, box) => {
      expect($(box).find('.help-block').text()).toMatch(/\.$/);
    });
    const words = form.window.horizon.rbdLayoutWords;
    for (const key of Object.keys(volumeForm.OFFERS.rbd.options)) {
      expect(words.help(key)).toMatch(/\.$/);
    }
  });

  it('shows the limits of the type, also if nothing can be set', () => {
    const limits = () => $('[data-rbd-limits]:not([hidden])').text();
    open((options, offer) => {
      offer.limits = '500 reads per second';
    });
    expect(limits())
      .toBe('Limits of the volume type: 500 reads per second.');
    form.fill('type', 'strict');
    expect(limits()).toBe('');
    open((options, offer) => {
      offer.limits = '500 reads per second';
      offer.reason = 'you may not set any of them';
    });
    expect(limits()).toContain('500 reads');
    expect(form.status()).toContain('you may not set any of them');
  });

  it('has sizes also if a type has no bounds', () => {
    open((options, offer, offers) => {
      offers.half = {options: {
        'rbd:object_size': {settable: false},
        'rbd:stripe_unit': {settable: true, minimum: 0, maximum: 4194304}
      }};
    });
    expect($('[name="rbd_object_size"] option').length).toBe(15);
    expect($('[name="rbd_stripe_unit"] option').length).toBe(18);
  });

  it('says why a box is off', () => {
    open();
    form.tick('rbd_choose_features');
    const why = (name) => $(`[value="${name}"]`).closest('.checkbox')
      .find('.help-block').text();
    expect(why('deep-flatten')).toMatch(
      /from the parent\. Not allowed for this volume type\.$/);
    expect(why('object-map')).toBe('Tracks which objects exist.');
    form.tick('rbd_features', 'exclusive-lock');
    expect(why('object-map')).toContain('Requires exclusive-lock.');
    expect(why('fast-diff')).toContain('Requires object-map.');
  });

  it('does not preview what can not be', () => {
    open();
    for (const count of ['0', '-1', '1.5']) {
      form.fill('rbd_stripe_count', count);
      expect(form.preview())
        .toBe('The stripe count must be a whole number from 1 to 64.');
      expect(form.isRefused()).toBe(true);
    }
    form.fill('rbd_stripe_count', '');
    for (const size of ['0', '-1', '1.5', '1e3', '99999999999999999999']) {
      form.fill('size', size);
      expect(form.preview()).toBe('');
    }
  });

  it('groups numbers as in the language of the user', () => {
    open(null, {before: (loaded) => {
      loaded.horizon.languageCode = 'de';
    }});
    expect(form.preview())
      .toBe('8 GiB = 2.048 objects of 4 MiB, with object map');
  });
});
