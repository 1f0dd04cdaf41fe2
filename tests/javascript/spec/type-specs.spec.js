// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

const BODY = `<form>
  <input name="key" class="rbd-key" data-pair="rbd:stripe_unit rbd:stripe_count">
  <p data-key="rbd:features" hidden>The complete set.</p>
  <p data-key="rbd:object_size" hidden>A size.</p>
  <fieldset class="rbd-feature-boxes" data-key="rbd:features"
            data-required="layering" hidden>
    <input type="checkbox" value="exclusive-lock" data-requires="">
    <input type="checkbox" value="object-map" data-requires="exclusive-lock">
    <input type="checkbox" value="fast-diff" data-requires="object-map">
  </fieldset>
  <div class="rbd-data-pools" data-key="rbd:data_pool" hidden>
    <select><option value="">Other</option><option>fast</option></select>
  </div>
  <input name="value">
  <div class="form-group"><input class="rbd-partner" name="partner"></div>
</form>`;

describe('extra specs of a volume type', function () {
  let $;

  function type(key) {
    $('[name="key"]').val(key).trigger('input');
  }

  function click(name) {
    const $box = $(`[type="checkbox"][value="${name}"]`);
    $box.prop('checked', !$box.prop('checked')).trigger('change');
  }

  function value() {
    return $('[name="value"]').val();
  }

  function checked() {
    return $('input:checked').get().map((each) => each.value);
  }

  beforeEach(function () {
    $ = page.load({body: BODY}).jQuery;
  });

  it('show the help for the chosen key only', function () {
    type('rbd:object_size');
    expect($('p:not([hidden])').text()).toBe('A size.');
    expect($('fieldset').prop('hidden')).toBe(true);
    type('volume_backend_name');
    expect($('p:not([hidden])').length).toBe(0);
  });

  it('have a box for each feature', function () {
    type('rbd:features');
    expect($('fieldset').prop('hidden')).toBe(false);
    click('exclusive-lock');
    expect(value()).toBe('layering,exclusive-lock');
  });

  it('add what a feature requires', function () {
    type('rbd:features');
    click('fast-diff');
    expect(value()).toBe('layering,exclusive-lock,object-map,fast-diff');
  });

  it('remove what requires a feature', function () {
    type('rbd:features');
    click('fast-diff');
    click('exclusive-lock');
    expect(value()).toBe('layering');
  });

  it('check the boxes of a typed value and keep other names', function () {
    type('rbd:features');
    $('[name="value"]').val('layering, exclusive-lock,new').trigger('input');
    expect(checked()).toEqual(['exclusive-lock']);
    click('object-map');
    expect(value()).toBe('layering,exclusive-lock,object-map,new');
  });

  it('offer the data pools as a list', function () {
    const hidden = () => $('.rbd-data-pools').prop('hidden');
    type('rbd:features');
    expect(hidden()).toBe(true);
    type('rbd:data_pool');
    expect(hidden()).toBe(false);
    $('select').val('fast').trigger('change');
    expect(value()).toBe('fast');
    $('[name="value"]').val('slow').trigger('input');
    expect($('select').val()).toBe('');
    $('[name="value"]').val(' fast').trigger('input');
    expect($('select').val()).toBe('fast');
  });

  it('show the field for the other key of a pair', function () {
    type('rbd:stripe_unit');
    expect($('.form-group').css('display')).not.toBe('none');
    type('rbd:features');
    expect($('.form-group').css('display')).toBe('none');
  });
});
