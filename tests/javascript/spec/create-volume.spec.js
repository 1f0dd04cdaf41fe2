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

const page = require('./page');

const OFFERS = page.read('offers.json').form;
const SIZES = ['', '4K', '32K', '64K', '128K', '1M', '2M', '4M', '8M', '32M'];
const FEATURES = [
  'layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten'
];
const MADE = {
  object_size: 8388608,
  stripe_unit: 65536,
  stripe_count: 3,
  features: ['layering', 'striping']
};

function select(name, values) {
  const options = values.map((each) => `<option value="${each}">${each}`);
  return `<select name="${name}">${options.join('')}</select>`;
}

function row(key, name, field) {
  return `<div data-rbd-key="rbd:${key}" data-rbd-field="${name}">${field}
    </div>`;
}

function features() {
  return FEATURES.map((each) => `<div class="checkbox">
    <input type="checkbox" name="rbd_features" value="${each}"></div>`);
}

/* Horizon's fields that the script reads, and ours as the templates have it. */
function form(offers) {
  const data = JSON.stringify(offers).replace(/"/g, '&quot;');
  return `<form>
    ${select('volume_source_type', [
      '', 'volume_source', 'snapshot_source', 'image_source'])}
    ${select('volume_source', ['', 'v1'])}
    ${select('snapshot_source', ['', 's1'])}
    ${select('image_source', ['', 'i1'])}
    ${select('type', ['rbd', 'fake', ''])}
    <input name="size" value="8">
    <fieldset class="rbd-volume-options" data-rbd-offers="${data}"
              data-rbd-sources="/sources/" hidden disabled>
      <p data-rbd-source hidden></p>
      ${row('object_size', 'rbd_object_size', select('rbd_object_size', SIZES))}
      ${row('stripe_unit', 'rbd_stripe_unit', select('rbd_stripe_unit', SIZES))}
      ${row('stripe_count', 'rbd_stripe_count',
        '<input name="rbd_stripe_count">')}
      ${row('object_map', 'rbd_object_map', select(
        'rbd_object_map', ['', 'true', 'false']))}
      <div data-rbd-field="rbd_choose_features">
        <input type="checkbox" name="rbd_choose_features"></div>
      ${row('features', 'rbd_features', features().join(''))}
      <p data-rbd-preview></p>
    </fieldset></form>`;
}

describe('The Create Volume form', () => {
  let $, answer, asked, window;

  function open(change, more) {
    const offers = JSON.parse(JSON.stringify(OFFERS));
    (change || (() => null))(offers.rbd.options, offers.rbd);
    window = page.load(Object.assign({
      body: form(offers),
      before: (loaded) => {
        loaded.jQuery.ajax = (request) => {
          asked.push(request.url);
          return answer
            ? loaded.jQuery.Deferred().resolve(answer)
            : loaded.jQuery.Deferred().reject();
        };
      }
    }, more));
    $ = window.jQuery;
  }

  function fill(name, value) {
    $(`[name="${name}"]`).val(value).trigger('change');
  }

  function tick(name, value) {
    const more = value ? `[value="${value}"]` : '';
    $(`[name="${name}"]${more}`).each((_, box) => {
      box.click();
    });
  }

  /* Goes on when jQuery has handed an answer on, which it does later. */
  function answered(goOn) {
    window.setTimeout(goOn, 20);
  }

  const preview = () => $('[data-rbd-preview]').text();
  const isRefused = () => $('[data-rbd-preview]').hasClass('text-danger');
  const blank = (name) => $(`[name="${name}"] option[value=""]`).text();
  const isHidden = () => $('fieldset').prop('hidden');

  beforeEach(() => {
    asked = [];
    answer = {volume_type: 'rbd', made: MADE};
  });

  it('shows what is made by default', () => {
    open();
    expect(isHidden()).toBe(false);
    expect(preview())
      .toBe('8 GiB = 2,048 objects of 4 MiB, with object map');
    expect(blank('rbd_object_size'))
      .toBe('Default: 4 MiB (set by the back end)');
    expect(blank('rbd_object_map'))
      .toBe('Default: yes (set by the volume type)');
    expect(blank('rbd_stripe_unit')).toBe('Default');
  });

  it('shows what is chosen', () => {
    open();
    fill('rbd_object_size', '1M');
    fill('rbd_stripe_unit', '64K');
    fill('rbd_stripe_count', '8');
    fill('rbd_object_map', 'false');
    expect(preview()).toBe(
      '8 GiB = 8,192 objects of 1 MiB, 64 KiB x 8, without object map');
    expect(isRefused()).toBe(false);
  });

  it('says nothing about a size that is none', () => {
    open();
    fill('rbd_stripe_unit', '64K');
    fill('size', '');
    expect(preview()).toBe('');
    expect(isRefused()).toBe(false);
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
        fill(name, values[name]);
      }
      expect(preview()).toBe(text);
      expect(isRefused()).toBe(true);
    });
  }

  it('compares codes, in whatever language it speaks', () => {
    open(null, {gettext: (text) => `<${text}>`});
    expect(blank('rbd_object_size'))
      .toBe('<Default: 4 MiB (<set by the back end>)>');
    fill('image_source', 'i1');
    expect(blank('rbd_object_size'))
      .toBe('<Default: 4 MiB (<set by the back end>)>');
    fill('rbd_stripe_unit', '8M');
    fill('rbd_stripe_count', '2');
    expect(preview())
      .toBe('<The stripe unit is larger than the object size.>');
  });

  it('does not know what an image has where Ceph decides', () => {
    open((options) => {
      options['rbd:object_size'].default_from = 'cluster';
    });
    expect(blank('rbd_object_size')).toBe('Default: 4 MiB (set by Ceph)');
    fill('image_source', 'i1');
    expect(blank('rbd_object_size')).toBe('Default');
    expect(preview()).toBe(
      "8 GiB in objects of Ceph's default size, with object map");
  });

  it('has the type and the layout of a source', (done) => {
    open();
    fill('type', 'fake');
    expect(isHidden()).toBe(true);
    fill('volume_source_type', 'volume_source');
    fill('volume_source', 'v1');
    expect(asked).toEqual(['/sources/volume/v1/']);
    answered(() => {
      expect(isHidden()).toBe(false);
      expect(blank('rbd_object_size'))
        .toBe('Default: 8 MiB (same as the source)');
      // The source's own striping is not held to the rule of whole stripes.
      expect(preview()).toContain('objects of 8 MiB, 64 KiB x 3');
      expect(isRefused()).toBe(false);
      // The type's default overrides the source.
      expect(blank('rbd_object_map'))
        .toBe('Default: yes (set by the volume type)');
      done();
    });
  });

  it('can have smaller objects than a source without striping', (done) => {
    answer.made = Object.assign({}, MADE, {
      stripe_unit: MADE.object_size, stripe_count: 1
    });
    open();
    fill('snapshot_source', 's1');
    fill('rbd_object_size', '1M');
    expect(asked).toEqual(['/sources/snapshot/s1/']);
    answered(() => {
      expect(preview()).toContain('8,192 objects of 1 MiB');
      expect(isRefused()).toBe(false);
      done();
    });
  });

  it('offers nothing for a source that is not known', (done) => {
    answer = null;
    open();
    fill('volume_source', 'v1');
    answered(() => {
      expect(isHidden()).toBe(true);
      expect($('fieldset').prop('disabled')).toBe(true);
      done();
    });
  });

  it('turns off units above the object size', () => {
    open();
    fill('rbd_object_size', '1M');
    const off = $('[name="rbd_stripe_unit"] option:disabled')
      .map((_, each) => each.value).get();
    expect(off).toEqual(['2M', '4M', '8M', '32M']);
  });

  it('ticks the features that others require', () => {
    open();
    tick('rbd_choose_features');
    const ticked = () => $('[name="rbd_features"]:checked')
      .map((_, each) => each.value).get();
    expect(ticked())
      .toEqual(['layering', 'exclusive-lock', 'object-map', 'fast-diff']);
    expect($('[data-rbd-key="rbd:object_map"]').prop('hidden')).toBe(true);
    tick('rbd_features', 'exclusive-lock');
    expect(ticked()).toEqual(['layering']);
    expect(preview()).toContain('without object map');
  });

  it('does not send rows that the type does not offer', () => {
    open((options) => {
      options['rbd:stripe_unit'].settable = false;
      options['rbd:stripe_count'].settable = false;
    });
    fill('rbd_stripe_unit', '64K');
    expect($('[name="rbd_stripe_unit"]').prop('disabled')).toBe(true);
    expect(isRefused()).toBe(false);
  });
});
