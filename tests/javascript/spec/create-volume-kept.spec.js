// SPDX-License-Identifier: Apache-2.0

'use strict';

const volumeForm = require('./volume-form');

describe('Choices in the Create Volume form', () => {
  const form = volumeForm.create();
  const open = form.open;
  const $ = (selector) => form.$(selector);

  beforeEach(form.reset);

  it('keeps what is chosen while a source is looked up', () => {
    form.answer = 'slow';
    open();
    form.fill('rbd_object_size', '1M');
    form.fill('volume_source_type', 'volume_source');
    form.fill('volume_source', 'v1');
    expect(form.status()).toBe('Looking up the source of the volume.');
    expect(form.posted().rbd_object_size).toBe('1M');
    expect(form.shown()).toEqual(['rbd_object_size']);
    expect(form.marked()).toEqual([]);
    form.fill('size', '9');
    expect(form.asked.length).toBe(1);
    form.fill('rbd_object_size', '');
    expect($('fieldset').prop('disabled')).toBe(true);
  });

  it('keeps a choice of features while a source is looked up', () => {
    form.answer = 'slow';
    open();
    form.tick('rbd_choose_features');
    form.tick('rbd_features', 'object-map');
    form.fill('volume_source', 'v1');
    expect(form.posted().rbd_choose_features).toBe('on');
    expect(form.ticked()).toEqual(['layering', 'exclusive-lock']);
    expect(form.isDisabled('rbd_features')).toBe(false);
  });

  it('looks up a source again if that failed', (done) => {
    form.answer = null;
    open();
    form.fill('rbd_object_size', '1M');
    form.fill('volume_source', 'v1');
    form.answered(() => {
      expect(form.status()).toContain('The source of the volume is not available');
      expect(form.posted().rbd_object_size).toBe('1M');
      expect(form.marked()).toEqual([]);
      $('form').trigger('click');
      expect(form.asked.length).toBe(1);
      form.answer = {volume_type: 'rbd', made: volumeForm.MADE};
      form.fill('size', '9');
      expect(form.asked.length).toBe(2);
      form.answered(() => {
        expect(form.status()).toBe('');
        expect(form.preview()).toContain('objects of 1 MiB');
        form.fill('size', '8');
        expect(form.asked.length).toBe(2);
        done();
      });
    });
  });

  it('offers nothing for a source that is not known', (done) => {
    form.answer = null;
    open();
    form.fill('volume_source', 'v1');
    form.answered(() => {
      expect(form.status()).toContain('The source of the volume is not available');
      expect(form.isHidden()).toBe(false);
      expect($('fieldset').first().prop('disabled')).toBe(true);
      done();
    });
  });

  it('marks and sends what the type does not allow', () => {
    open((options) => {
      options['rbd:stripe_unit'].settable = false;
      options['rbd:stripe_count'].settable = false;
    });
    expect(form.shown()).not.toContain('rbd_stripe_unit');
    expect(form.isDisabled('rbd_stripe_unit')).toBe(true);
    form.fill('rbd_stripe_unit', '64K');
    form.fill('rbd_stripe_count', '4');
    expect(form.posted().rbd_stripe_unit).toBe('64K');
    expect(form.posted().rbd_stripe_count).toBe('4');
    expect(form.marked()).toEqual(['rbd_stripe_unit', 'rbd_stripe_count']);
    expect(form.errors().rbd_stripe_unit).toBe('Not allowed for this volume ' +
      'type. Select the default, or another volume type.');
    expect(form.isOpen()).toBe(true);
    form.fill('rbd_stripe_unit', '');
    form.fill('rbd_stripe_count', '');
    expect(form.marked()).toEqual([]);
    expect(form.shown()).not.toContain('rbd_stripe_unit');
    expect(form.errors()).toEqual({});
  });

  it('marks a set of features that another type does not allow', () => {
    open();
    form.tick('rbd_choose_features');
    form.fill('rbd_object_map', 'true');
    for (const type of ['lvm', 'fake', '']) {
      form.fill('type', type);
      expect(form.posted().rbd_choose_features).toBe('on');
      expect(form.posted().rbd_object_map).toBeUndefined();
      expect(form.shown()).toEqual(['rbd_choose_features', 'rbd_features']);
      expect(form.marked()).toEqual(['rbd_features']);
    }
    form.tick('rbd_choose_features');
    expect(form.posted().rbd_object_map).toBe('true');
    form.fill('type', 'rbd');
    expect(form.marked()).toEqual([]);
  });

  it('shows nothing for a type that offers nothing', () => {
    open((options, offer, offers) => {
      // Its only settable key belongs to attaching.
      for (const key of Object.keys(options)) {
        offers.strict.options[key] = Object.assign(
          {}, options[key], {settable: false});
      }
    });
    for (const type of ['lvm', 'fake', 'strict', '']) {
      form.fill('type', type);
      expect(form.isHidden()).toBe(true);
      expect($('fieldset').prop('disabled')).toBe(true);
    }
    form.fill('type', 'rbd');
    form.fill('rbd_object_size', '1M');
    for (const type of ['lvm', 'fake', 'strict', '']) {
      form.fill('type', type);
      expect(form.isHidden()).toBe(false);
      expect(form.posted().rbd_object_size).toBe('1M');
      expect(form.marked()).toEqual(['rbd_object_size']);
    }
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

  it('shows an error of the server until the value changes', () => {
    open(null, {body: volumeForm.markup(volumeForm.OFFERS)
      .replace('role="alert" id="rbd_object_size_error" hidden>',
        'role="alert" id="rbd_object_size_error">why')});
    expect(form.errors()).toEqual({rbd_object_size: 'why'});
    form.fill('size', '9');
    expect(form.errors()).toEqual({rbd_object_size: 'why'});
    form.fill('rbd_object_size', '1M');
    expect(form.errors()).toEqual({});
  });

  it('keeps the ticks while another type is selected', () => {
    open();
    form.tick('rbd_choose_features');
    form.tick('rbd_features', 'object-map');
    const before = ['layering', 'exclusive-lock'];
    expect(form.ticked()).toEqual(before);
    for (const type of ['lvm', 'strict']) {
      form.fill('type', type);
      form.fill('type', 'rbd');
      expect(form.ticked()).toEqual(before);
    }
    form.tick('rbd_features', 'exclusive-lock');
    form.tick('rbd_features', 'exclusive-lock');
    expect(form.ticked()).toEqual(before);
  });

  it('keeps and shows what the server refused', () => {
    open(null, {body: volumeForm.markup(volumeForm.OFFERS)
      .replace('role="alert" id="rbd_object_size_error" hidden>',
        'role="alert" id="rbd_object_size_error">why')
      .replace('name="rbd_object_size"><option value="">',
        'name="rbd_object_size"><option value="1M" selected>')
      .replace('<option value="lvm">', '<option value="lvm" selected>')});
    expect($('fieldset').prop('disabled')).toBe(false);
    expect(form.isDisabled('rbd_object_size')).toBe(false);
    expect(form.isDisabled('rbd_stripe_unit')).toBe(true);
    expect(form.shown()).toEqual(['rbd_object_size']);
    expect(form.errors()).toEqual({rbd_object_size: 'why'});
    form.fill('rbd_object_size', '');
    expect(form.isDisabled('rbd_object_size')).toBe(true);
    expect($('fieldset').prop('disabled')).toBe(true);
  });
});
