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

const OFFERS = page.offers('form');
const FEATURES = [
  'layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten',
  'journaling'
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
    <input type="checkbox" name="rbd_features" value="${each}">
    <span class="help-block"></span></div>`);
}

/* Horizon's fields that the script reads, and ours as the templates have it. */
function form(offers) {
  const data = JSON.stringify(page.packed(offers)).replace(/"/g, '&quot;');
  return `<form>
    ${select('volume_source_type', [
      '', 'volume_source', 'snapshot_source', 'image_source'])}
    ${select('volume_source', ['', 'v1'])}
    ${select('snapshot_source', ['', 's1'])}
    ${select('image_source', ['', 'i1'])}
    ${select('type', ['rbd', 'lvm', 'strict', 'fake', ''])}
    <input name="size" value="8">
    <fieldset class="rbd-volume-options" data-rbd-offers="${data}"
              data-rbd-sources="/sources/" hidden disabled>
      <p data-rbd-status hidden></p>
      <p data-rbd-source hidden></p>
      <p data-rbd-limits hidden></p>
      ${row('object_size', 'rbd_object_size', select('rbd_object_size', ['']))}
      ${row('stripe_unit', 'rbd_stripe_unit', select('rbd_stripe_unit', ['']))}
      ${row('stripe_count', 'rbd_stripe_count',
        '<input name="rbd_stripe_count"><span data-rbd-help></span>')}
      ${row('object_map', 'rbd_object_map', select(
        'rbd_object_map', ['', 'true', 'false']))}
      <div data-rbd-field="rbd_choose_features">
        <input type="checkbox" name="rbd_choose_features"></div>
      ${row('features', 'rbd_features', `<fieldset class="rbd-features">
        ${features().join('')}</fieldset>`)}
      <p data-rbd-preview></p>
    </fieldset></form>`;
}

describe('The Create Volume form', () => {
  let $, answer, asked, window;

  function open(change, more) {
    const offers = JSON.parse(JSON.stringify(OFFERS));
    offers.strict = JSON.parse(JSON.stringify(offers.rbd));
    for (const key of Object.keys(offers.strict.options)) {
      offers.strict.options[key].settable = false;
    }
    offers.strict.options['rbd:features'].settable = true;
    // So the list has sizes that the other types refuse.
    offers.strict.options['rbd:object_size'].minimum = 4096;
    offers.strict.options['rbd:features'].allowed = ['layering'];
    (change || (() => null))(offers.rbd.options, offers.rbd, offers);
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
  const status = () => $('[data-rbd-status]').text();
  const ticked = () => $('[name="rbd_features"]:checked')
    .map((_, each) => each.value).get();
  const isHidden = () => $('.rbd-volume-options').prop('hidden');

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
    expect(blank('rbd_stripe_unit'))
      .toBe('Default: depends on the back end');
    expect($('[data-rbd-help]').text())
      .toContain('writes over more disks. Default: depends on the back end');
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
    expect(blank('rbd_object_size')).toBe('Default: same as the image');
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
      expect(status()).toContain('the source of the volume is not available');
      expect($('fieldset').prop('disabled')).toBe(true);
      done();
    });
  });

  it('turns off units above the object size', () => {
    open();
    fill('rbd_object_size', '1M');
    const off = $('[name="rbd_stripe_unit"] option:disabled')
      .map((_, each) => each.value).get();
    expect(off).toEqual(['2M', '4M', '8M', '16M', '32M']);
  });

  it('ticks the features that others require', () => {
    open();
    tick('rbd_choose_features');
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

  it('says why a type offers nothing', () => {
    open();
    expect(status()).toBe('');
    fill('type', 'lvm');
    expect(isHidden()).toBe(false);
    expect($('fieldset').prop('disabled')).toBe(true);
    expect(status()).toContain('offers no RBD volume options: no back end');
    expect(status()).not.toContain('are not used');
    expect($('[data-rbd-field]:not([hidden])').length).toBe(0);
    expect(preview()).toBe('');
    fill('type', 'rbd');
    fill('rbd_object_size', '1M');
    fill('type', 'lvm');
    expect(status()).toContain('The selected values are not used.');
    fill('type', '');
    expect(status()).toContain('no volume type is selected');
  });

  it('says that nothing is striped by default, and who decided it', () => {
    open((options) => {
      options['rbd:stripe_unit'].default_from = 'cluster';
      options['rbd:stripe_count'].default = 8;
      options['rbd:stripe_count'].default_from = 'backend';
    });
    expect(blank('rbd_stripe_unit'))
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
    const words = window.horizon.rbdLayoutWords;
    for (const key of Object.keys(OFFERS.rbd.options)) {
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
    fill('type', 'strict');
    expect(limits()).toBe('');
    open((options, offer) => {
      offer.limits = '500 reads per second';
      offer.reason = 'you may not set any of them';
    });
    expect(limits()).toContain('500 reads');
    expect(status()).toContain('you may not set any of them');
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

  it('keeps a posted size that is not in the list', () => {
    open(null, {before: (loaded) => {
      loaded.jQuery('[name="rbd_object_size"]')
        .append('<option value="3M" selected>3M');
      loaded.jQuery('[name="rbd_stripe_unit"]')
        .append('<option value="64K" selected>64K');
    }});
    expect($('[name="rbd_object_size"]').val()).toBe('3M');
    expect($('[name="rbd_stripe_unit"]').val()).toBe('64K');
    expect($('[name="rbd_stripe_unit"] option[value="64K"]').length).toBe(1);
  });

  it('says why a box is off', () => {
    open();
    tick('rbd_choose_features');
    const why = (name) => $(`[value="${name}"]`).closest('.checkbox')
      .find('.help-block').text();
    expect(why('deep-flatten')).toMatch(
      /from the parent\. Not allowed for this volume type\.$/);
    expect(why('object-map')).toBe('Tracks which objects exist.');
    tick('rbd_features', 'exclusive-lock');
    expect(why('object-map')).toContain('Requires exclusive-lock.');
    expect(why('fast-diff')).toContain('Requires object-map.');
  });

  it('keeps the ticks while another type is selected', () => {
    open();
    tick('rbd_choose_features');
    tick('rbd_features', 'object-map');
    const before = ['layering', 'exclusive-lock'];
    expect(ticked()).toEqual(before);
    for (const type of ['lvm', 'strict']) {
      fill('type', type);
      fill('type', 'rbd');
      expect(ticked()).toEqual(before);
    }
    tick('rbd_features', 'exclusive-lock');
    tick('rbd_features', 'exclusive-lock');
    expect(ticked()).toEqual(before);
  });

  it('does not preview what can not be', () => {
    open();
    for (const count of ['0', '-1', '1.5']) {
      fill('rbd_stripe_count', count);
      expect(preview())
        .toBe('The stripe count must be a whole number from 1 to 64.');
      expect(isRefused()).toBe(true);
    }
    fill('rbd_stripe_count', '');
    for (const size of ['0', '-1', '1.5', '1e3', '99999999999999999999']) {
      fill('size', size);
      expect(preview()).toBe('');
    }
  });

  it('groups numbers as in the language of the user', () => {
    open(null, {before: (loaded) => {
      loaded.horizon.languageCode = 'de';
    }});
    expect(preview())
      .toBe('8 GiB = 2.048 objects of 4 MiB, with object map');
  });

  it('keeps and shows what the server refused', () => {
    open(null, {body: form(OFFERS)
      .replace('data-rbd-field="rbd_object_size"',
        'class="has-error" data-rbd-field="rbd_object_size"')
      .replace('name="rbd_object_size"><option value="">',
        'name="rbd_object_size"><option value="1M" selected>')
      .replace('<option value="lvm">', '<option value="lvm" selected>')});
    const isOff = (name) => $(`[name="${name}"]`).prop('disabled');
    expect($('fieldset').prop('disabled')).toBe(false);
    expect(isOff('rbd_object_size')).toBe(false);
    expect(isOff('rbd_stripe_unit')).toBe(true);
    expect($('[data-rbd-field]:not([hidden])').length).toBe(1);
    fill('rbd_object_size', '');
    expect(isOff('rbd_object_size')).toBe(true);
    expect($('fieldset').prop('disabled')).toBe(true);
  });
});
