// SPDX-License-Identifier: Apache-2.0

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
      .toBe('Default: Yes (set by the volume type)');
    expect(form.blank('rbd_stripe_unit'))
      .toBe('Default: depends on the back end');
    expect($('[data-rbd-default]').first().text())
      .toBe('Default: depends on the back end');
    expect(form.isOpen()).toBe(false);
    expect(form.summary())
      .toBe('Layout and features: 4 MiB objects, object map (default)');
  });

  it('shows the range of the type and what an option is without it', () => {
    const wait = (part) => $(`[data-rbd-key="rbd:wait"] [data-rbd-${part}]`)
      .text();
    open((options) => {
      options['rbd:wait'].settable = true;
    });
    expect(wait('maximum')).toBe('');
    expect(wait('default')).toBe('No limit');
    open((options) => {
      Object.assign(options['rbd:wait'], {settable: true, maximum: 500});
    });
    expect(wait('maximum')).toBe('1 to 500 with this volume type.');
    open((options) => {
      Object.assign(options['rbd:wait'], {settable: true, minimum: 10});
    });
    expect(wait('maximum')).toBe('10 to 1,000 with this volume type.');
  });

  it('shows the range of a limit that follows from the size', () => {
    const range = () => $('[data-rbd-key="rbd:wait"] [data-rbd-maximum]')
      .text();
    open((options) => {
      Object.assign(options['rbd:wait'],
        {settable: true, minimum: 10, per_gib: 3});
    });
    expect(range()).toBe('10 to 24 with this volume type.');
    form.fill('size', '2');
    expect(range()).toBe('6 to 6 with this volume type.');
    form.fill('size', '500');
    expect(range()).toBe('10 to 1,000 with this volume type.');
    form.fill('size', '');
    expect(range()).toBe('');
    open((options) => {
      Object.assign(options['rbd:wait'], {
        settable: true, minimum: 100, per_gib: 3, per_gib_minimum: 100
      });
    });
    expect(range()).toBe('100 to 100 with this volume type.');
    open((options) => {
      Object.assign(options['rbd:wait'],
        {settable: true, minimum: 10, per_gib: 3, maximum: 500});
    });
    expect(range()).toBe('10 to 500 with this volume type.');
  });

  it('shows what is chosen', () => {
    open();
    form.fill('rbd_object_size', '1M');
    form.fill('rbd_stripe_unit', '64K');
    form.fill('rbd_stripe_count', '8');
    form.fill('rbd_object_map', 'false');
    expect(form.preview()).toBe(
      '8 GiB = 8,192 objects of 1 MiB, 64 KiB × 8, without object map');
    expect(form.errors()).toEqual({});
    expect(form.isOpen()).toBe(true);
    expect(form.summary()).toBe('Layout and features: 1 MiB objects, ' +
      '64 KiB × 8, no object map (selected)');
  });

  it('proposes a count for a stripe unit, within the limit', () => {
    const count = () => $('[name="rbd_stripe_count"]').val();
    open();
    form.fill('rbd_stripe_unit', '64K');
    expect(count()).toBe('8');
    form.fill('rbd_stripe_unit', '');
    expect(count()).toBe('');
    form.fill('rbd_stripe_count', '4');
    form.fill('rbd_stripe_unit', '64K');
    expect(count()).toBe('4');
    form.fill('rbd_stripe_unit', '');
    expect(count()).toBe('4');
    open((options) => {
      options['rbd:stripe_count'].maximum = 3;
    });
    form.fill('rbd_stripe_unit', '64K');
    expect(count()).toBe('2');
    open((options) => {
      options['rbd:stripe_count'].default = 16;
    });
    form.fill('rbd_stripe_unit', '64K');
    expect(count()).toBe('16');
  });

  it('complains about half a pair when the user leaves it', (done) => {
    open();
    $('details').prop('open', true);
    $('[name="rbd_stripe_count"]').get(0).focus();
    form.fill('rbd_stripe_count', '4');
    expect(form.errors()).toEqual({});
    expect(form.preview()).toBe('');
    $('[name="size"]').get(0).focus();
    form.answered(() => {
      expect(form.errors()).toEqual({rbd_stripe_unit:
        'Stripe unit and stripe count must be set together.'});
      const unit = $('[name="rbd_stripe_unit"]');
      form.fill('rbd_stripe_unit', '64K');
      expect(form.errors()).toEqual({});
      expect(unit.attr('aria-invalid')).toBeUndefined();
      done();
    });
  });

  it('has further options in a group of their own', () => {
    const hidden = () => $('.more').prop('hidden');
    open();
    expect(hidden()).toBe(true);
    open((options) => {
      Object.assign(
        options['rbd:wait'], {settable: true, default: 5, default_from: 'backend'});
      Object.assign(
        options['rbd:hint'], {settable: true, allowed: ['cold', 'hot']});
    });
    expect(hidden()).toBe(false);
    expect($('.more').prop('open')).toBe(false);
    expect($('.more [data-rbd-default]').first().text())
      .toBe('Default: 5 (set by the back end)');
    expect($('[name="rbd_hint"] option').map((_, each) => each.value).get())
      .toEqual(['', 'cold', 'hot']);
    form.fill('rbd_hint', 'hot');
    expect(form.posted().rbd_hint).toBe('hot');
    form.fill('type', 'strict');
    expect(form.errors()).toEqual({rbd_hint: 'Not allowed for this volume ' +
      'type. Select the default, or another volume type.'});
    expect($('.more').prop('open')).toBe(true);
  });

  it('hides the sector size of a copy, which its source decides', (done) => {
    const hidden = () => $('[data-rbd-key="rbd:sector_size"]').prop('hidden');
    open((options) => {
      Object.assign(options['rbd:sector_size'],
        {settable: true, allowed: ['512', '4096']});
    });
    expect(hidden()).toBe(false);
    form.fill('volume_source_type', 'volume_source');
    form.fill('volume_source', 'v1');
    form.answered(() => {
      expect(hidden()).toBe(true);
      form.fill('volume_source', '');
      form.fill('rbd_sector_size', '4096');
      form.fill('volume_source', 'v1');
      form.answered(() => {
        // Cinder refuses it at its field.
        expect(hidden()).toBe(false);
        done();
      });
    });
  });

  it('shows bytes per second with a unit', () => {
    open((options) => {
      Object.assign(options['rbd:wait'],
        {settable: true, default: 104857600, default_from: 'backend'});
    });
    $('[data-rbd-key="rbd:wait"]').attr('data-rbd-kind', 'rate');
    form.fill('size', '9');
    expect($('.more [data-rbd-default]').first().text().replace(/\u00a0/, ' '))
      .toBe('Default: 100 MiB (set by the back end)');
  });

  it('says nothing about a size that is none', () => {
    open();
    form.fill('rbd_stripe_unit', '64K');
    form.fill('size', '');
    expect(form.preview()).toBe('');
    expect(form.errors()).toEqual({});
  });

  const REFUSED = [
    ['stripe_unit', 'Stripe unit and stripe count must be set together.',
      {rbd_stripe_count: '4'}],
    ['stripe_unit', 'The stripe unit is larger than the object size.',
      {rbd_stripe_unit: '8M', rbd_stripe_count: '2'}],
    ['stripe_count', 'The maximum stripe count is 64.',
      {rbd_stripe_unit: '64K', rbd_stripe_count: '65'}],
    ['stripe_count', '8 GiB is not a multiple of 64 KiB × 3. Choose a power of ' +
      'two as the count, or another size.',
      {rbd_stripe_unit: '64K', rbd_stripe_count: '3'}],
    ['object_size', 'The minimum object size is 64 KiB.',
      {rbd_object_size: '32K'}],
    ['object_size', 'The volume would have more than 16,777,216 objects. ' +
      'Choose a larger object size.', {rbd_object_size: '64K', size: '1025'}],
    ['object_map', 'An object map is limited to 256,000,000 objects. Choose ' +
      'a larger object size, or disable the object map.', {size: '1000001'}]
  ];
  for (const [field, text, values] of REFUSED) {
    it(`says at its field: ${text}`, () => {
      open();
      for (const name of Object.keys(values)) {
        form.fill(name, values[name]);
      }
      expect(form.errors()).toEqual({[`rbd_${field}`]: text});
      expect(form.preview()).toBe('');
      expect(form.isOpen()).toBe(true);
      const control = $(`[name="rbd_${field}"]`);
      expect(control.closest('.has-error').length).toBe(1);
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
    expect(form.errors().rbd_stripe_unit)
      .toBe('<The stripe unit is larger than the object size.>');
  });

  it('does not know what an image has where Ceph decides', () => {
    open((options) => {
      for (const key of ['object_size', 'stripe_unit', 'stripe_count']) {
        options[`rbd:${key}`].default_from = 'cluster';
      }
    });
    expect(form.blank('rbd_object_size')).toBe('Default: 4 MiB (set by Ceph)');
    form.fill('image_source', 'i1');
    expect(form.blank('rbd_object_size')).toBe('Default: same as the image');
    expect($('[data-rbd-source]').text()).toBe(
      'Set by the image: object_size, stripe_unit, stripe_count. Set by the ' +
      'volume type: object_map.');
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
      expect(form.preview()).toContain('objects of 8 MiB, 64 KiB × 3');
      expect(form.errors()).toEqual({});
      // The type's default overrides the source.
      expect(form.blank('rbd_object_map'))
        .toBe('Default: Yes (set by the volume type)');
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
      expect(form.errors()).toEqual({});
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
    expect($('[data-rbd-default]').first().text())
      .toBe('Default: 8 (set by the back end)');
  });

  it('has the sizes of all types', () => {
    open();
    const values = (name) => $(`[name="${name}"] option`).get()
      .map((each) => each.value);
    // The other type allows smaller objects.
    expect(values('rbd_object_size').slice(0, 3)).toEqual(['', '4K', '8K']);
    expect(values('rbd_object_size').pop()).toBe('32M');
    expect(values('rbd_stripe_unit').slice(0, 3)).toEqual(['', '512', '1K']);
    expect($('option[value="4M"]').first().text()).toBe('4\u00a0MiB');
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
      offer.reason = 'no back end';
    });
    expect(limits()).toContain('500 reads');
    expect(form.shown()).toEqual([]);
    expect($('fieldset > details').prop('hidden')).toBe(true);
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
    expect(why('deep-flatten')).toBe('Help. Not allowed for this volume type.');
    expect(why('object-map')).toBe('Help. ');
    form.tick('rbd_features', 'exclusive-lock');
    expect(why('object-map')).toContain('Requires exclusive-lock.');
    expect(why('fast-diff')).toContain('Requires object-map.');
  });

  it('does not preview what can not be', () => {
    open();
    for (const count of ['0', '-1', '1.5', 'x']) {
      form.fill('rbd_stripe_count', count);
      expect(form.errors()).toEqual({rbd_stripe_count:
        'The stripe count must be a whole number from 1 to 64.'});
      expect(form.preview()).toBe('');
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
