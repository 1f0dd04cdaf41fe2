// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

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
      <div class="form-group has-error" data-rbd-part>
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
    open(`<form><div class="form-group has-error" data-rbd-part hidden>
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
