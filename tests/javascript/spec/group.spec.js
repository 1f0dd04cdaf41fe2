// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

const ROW = (name, field) =>
  `<div id="${name}_row" data-rbd-part>${field}</div>`;
const INPUT = (name, value) =>
  `<input id="id_${name}" name="${name}" type="text" value="${value}">`;

describe('A group of fields', () => {
  let $, asked, window;

  /* A form with a type, a size and a group with a content. */
  function open(content) {
    asked = [];
    window = page.load({
      body: `<form>
        <select name="type"><option>rbd</option><option>a & b</option></select>
        <input name="size" value="1"><input name="name" value="mine">
        <fieldset data-rbd-group="/group/?default_type=d" hidden disabled
            data-rbd-names="type size">
          <p data-rbd-failed hidden>failed</p>
          <div data-rbd-content>${content}</div>
        </fieldset></form>`,
      before: (loaded) => {
        loaded.setTimeout = (action) => { action(); return 0; };
        loaded.jQuery.ajax = (request) => {
          const answer = loaded.jQuery.Deferred();
          asked.push({
            url: request.url,
            answer: (html) => answer.resolve({html, metadata: {}}),
            fail: () => answer.reject()
          });
          return answer;
        };
      }
    });
    $ = window.jQuery;
  }

  const last = () => asked[asked.length - 1];
  const content = () => $('[data-rbd-content]');

  function fill(name, value, event) {
    $(`[name="${name}"]`).val(value).trigger(event || 'change');
  }

  it('shows what the page has without a request', () => {
    open(ROW('a', INPUT('rbd_a', '1')));
    expect($('fieldset').prop('hidden')).toBe(false);
    expect($('fieldset').prop('disabled')).toBe(false);
    expect(asked.length).toBe(0);
  });

  it('is hidden while it is empty', () => {
    open('');
    expect($('fieldset').prop('hidden')).toBe(true);
    fill('type', 'a & b');
    last().answer(ROW('a', INPUT('rbd_a', '')));
    expect($('fieldset').prop('hidden')).toBe(false);
  });

  it('asks with the values of the form and the field that changed', () => {
    open(ROW('a', INPUT('rbd_a', '1')));
    fill('type', 'a & b');
    const query = new window.URL(last().url, 'http://x').searchParams;
    expect(Object.fromEntries(query)).toEqual({
      default_type: 'd', type: 'a & b', size: '1', rbd_a: '1', changed: 'type'
    });
  });

  it('does not ask about fields on which it does not depend', () => {
    open('');
    fill('name', 'other');
    $('form').trigger('click');
    expect(asked.length).toBe(0);
  });

  it('ignores a response for former values', () => {
    open('');
    fill('size', '2');
    const first = last();
    fill('size', '3');
    first.answer(ROW('a', 'for 2'));
    expect(content().text()).toBe('');
    last().answer(ROW('a', 'for 3'));
    expect(content().text()).toBe('for 3');
  });

  it('takes what the server proposes without another request', () => {
    open(ROW('a', INPUT('rbd_a', '')));
    fill('rbd_a', '64K');
    last().answer(ROW('a', INPUT('rbd_a', '64K') + INPUT('rbd_b', '8')));
    expect($('[name="rbd_b"]').val()).toBe('8');
    $('form').trigger('click');
    expect(asked.length).toBe(1);
  });

  it('replaces only the rows that changed and keeps the focus', () => {
    open(ROW('a', INPUT('rbd_a', '1')) + ROW('b', INPUT('rbd_b', '2')));
    const other = $('#id_rbd_b')[0];
    $('#id_rbd_a')[0].focus();
    $('#id_rbd_a')[0].setSelectionRange(1, 1);
    fill('rbd_a', '12', 'input');
    last().answer(
      ROW('a', `${INPUT('rbd_a', '12')}wrong`) +
      ROW('b', INPUT('rbd_b', '2')));
    expect($('#a_row').text()).toBe('wrong');
    expect(window.document.activeElement.id).toBe('id_rbd_a');
    expect($('#id_rbd_b')[0]).toBe(other);
  });

  it('keeps the values and says so if there is no response', () => {
    open(ROW('a', INPUT('rbd_a', '1')));
    fill('size', '2');
    last().fail();
    expect($('[data-rbd-failed]').prop('hidden')).toBe(false);
    expect($('[name="rbd_a"]').val()).toBe('1');
    // The next action of the user tries again.
    $('form').trigger('click');
    last().answer(ROW('a', INPUT('rbd_a', '1')));
    expect($('[data-rbd-failed]').prop('hidden')).toBe(true);
  });

  it('runs nothing of a response', () => {
    open('');
    fill('size', '2');
    last().answer('<div>x<script>window.harm = 1;</script></div>');
    expect(content().text()).toBe('x');
    expect(window.harm).toBeUndefined();
  });
});
