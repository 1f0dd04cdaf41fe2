// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

function attribute(value) {
  return JSON.stringify(value).replace(/"/g, '&quot;');
}

describe('Attach Volume of an instance', () => {
  const DATA = {
    lists: [[['', 'Default'], ['none', 'none: x'], ['writeback', 'y']]],
    notes: ['not coherent', 'no back end'],
    kinds: [
      [0, null, null], [0, null, 'writeback'], [0, null, 'unsafe'],
      [null, 0, null], [null, 1, null]
    ],
    volumes: [0, 1, 2, 3, 4]
  };
  const VOLUMES = ['v', 'mine', 'odd', 'shared', 'other'];
  let $;

  function open(volume, refused) {
    const options = ['', ...VOLUMES].map(
      (each) => `<option value="${each}"${each === volume ? ' selected' : ''}>${each}</option>`);
    const posted = refused
      ? `<option value="${refused}" selected>${refused}</option>` : '';
    $ = page.load({body: `<form>
      <select name="volume">${options.join('')}</select>
      <fieldset data-rbd-modes="${attribute(DATA)}" hidden disabled>
        <p data-rbd-note hidden></p>
        <div class="${refused ? 'has-error' : ''}" data-rbd-field="m">
        <select name="rbd_cache_mode"><option value=""></option>${posted}
        </select></div></fieldset></form>`}).jQuery;
  }

  const mode = () => $('[name="rbd_cache_mode"]');
  const note = () => $('[data-rbd-note]').text();
  const isOff = () => $('fieldset').prop('disabled');

  function select(volume) {
    $('[name="volume"]').val(volume).trigger('change');
  }

  it('has the modes of the selected volume', () => {
    open('');
    expect($('fieldset').prop('hidden')).toBe(true);
    expect(isOff()).toBe(true);
    select('v');
    expect(isOff()).toBe(false);
    expect(mode().val()).toBe('');
    expect(mode().find('option').length).toBe(3);
    select('mine');
    expect(mode().val()).toBe('writeback');
    select('odd');
    expect(mode().val()).toBe('unsafe');
    expect(mode().find(':selected').text()).toBe('unsafe: not allowed');
  });

  it('says why there is none', () => {
    open('');
    for (const [volume, why] of [
      ['shared', 'not coherent'], ['other', 'no back end']
    ]) {
      select(volume);
      expect($('fieldset').prop('hidden')).toBe(false);
      expect(isOff()).toBe(true);
      expect(note()).toBe(why);
      expect($('[data-rbd-field]').prop('hidden')).toBe(true);
    }
    select('v');
    expect(note()).toBe('');
  });

  it('keeps what the server refused', () => {
    open('other', 'writeback');
    expect(mode().val()).toBe('writeback');
    expect(isOff()).toBe(false);
    open('v', 'writeback');
    expect(mode().val()).toBe('writeback');
  });
});

describe('Change Volume Type', () => {
  it('shows the effect of the selected type', () => {
    const texts = attribute({
      texts: ['It is kept.', 'It is removed.', 'It is limited.'],
      types: {'fast"x': [1, 2], 'other': [0]}
    });
    const $ = page.load({body: `<form><select name="volume_type">
      <option>rbd</option><option>fast"x</option></select>
      <p data-rbd-effects="${texts}"></p></form>`}).jQuery;
    expect($('p').text()).toBe('');
    $('select').val('fast"x').trigger('change');
    expect($('p').text()).toBe('It is removed. It is limited.');
    $('select').val('rbd').trigger('change');
    expect($('p').text()).toBe('');
  });
});

describe('A form with errors', () => {
  let scrolled, window;

  function open(body) {
    scrolled = [];
    window = page.load({body: body, before: (loaded) => {
      loaded.Element.prototype.scrollIntoView = function () {
        scrolled.push(this.id);
      };
    }});
  }

  const ERROR = '<span class="help-block">why</span>';

  it('focuses the first field with an error', () => {
    open(`<form><p data-rbd-note></p><input id="name" name="name">
      <div class="form-group has-error"><input id="size">${ERROR}</div>
      <div class="form-group has-error" data-rbd-field="u">
        <input id="unit"></div></form>`);
    expect(scrolled).toEqual(['size']);
    expect(window.document.activeElement.id).toBe('size');
    const size = window.jQuery('#size');
    expect(size.attr('aria-invalid')).toBe('true');
    expect(window.jQuery(`#${size.attr('aria-describedby')}`).text())
      .toBe('why');
  });

  it('keeps the help of a widget', () => {
    open(`<form data-rbd-form>
      <div class="form-group has-error">
        <div><input id="key" aria-describedby="key_help">
          <p class="help-block" id="key_help">help</p>
          <p class="help-block" id="more">of a box</p></div>
        ${ERROR}</div></form>`);
    expect(window.document.activeElement.id).toBe('key');
    expect(window.jQuery('#key').attr('aria-describedby'))
      .toBe('key_help key_error_0');
  });

  it('passes over what can not be seen', () => {
    open(`<form><div class="form-group has-error" data-rbd-field="a" hidden>
        <input id="hidden"></div>
      <div class="form-group has-error"><input id="off" disabled></div>
      <div class="form-group has-error"><input id="seen"></div></form>`);
    expect(scrolled).toEqual(['seen']);
  });

  it('leaves forms without errors, and those of others, alone', () => {
    open('<form><p data-rbd-note></p><input id="a"></form>');
    expect(scrolled).toEqual([]);
    open(`<form><div class="form-group has-error"><input></div></form>`);
    expect(scrolled).toEqual([]);
  });
});
