// SPDX-License-Identifier: Apache-2.0

/* A page with the Create Volume form, for the specs of its script. */
'use strict';

const page = require('./page');

const OFFERS = page.offers('form');
// Options that a later release could have.
Object.assign(OFFERS.rbd.options, {
  'rbd:wait': {settable: false, default: null, minimum: 1, maximum: 1000},
  'rbd:hint': {settable: false, default: null, allowed: []},
  'rbd:sector_size': {settable: false, default: null, allowed: []}
});
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

function row(key, kind, field, unset = '') {
  const name = `rbd_${key}`;
  return `<div data-rbd-key="rbd:${key}" data-rbd-kind="${kind}"
      data-rbd-unset="${unset}" data-rbd-field="${name}">
    ${kind === 'features' ? '' : `<label class="control-label">${key}</label>`}
    ${field}
    <span class="help-block" id="${name}_hint">
    ${kind === 'count' ? '<span data-rbd-maximum="1000"></span>' +
      '<span data-rbd-default></span>' : ''}</span>
    <span role="alert" id="${name}_error" hidden></span></div>`;
}

function features() {
  return FEATURES.map((each) => `<div class="checkbox">
    <input type="checkbox" name="rbd_features" value="${each}">
    <span class="help-block">Help. <span data-rbd-why></span></span></div>`);
}

/* Our fields as the templates have them. */
function rows() {
  return [
    row('object_size', 'size', select('rbd_object_size', [''])),
    row('stripe_unit', 'size', select('rbd_stripe_unit', [''])),
    row('stripe_count', 'count', '<input name="rbd_stripe_count">'),
    row('object_map', 'boolean', select(
      'rbd_object_map', ['', 'true', 'false'])),
    `<div data-rbd-field="rbd_choose_features">
      <input type="checkbox" name="rbd_choose_features"></div>`,
    row('features', 'features', `<fieldset class="rbd-features">
      <legend>Image features</legend>${features().join('')}</fieldset>`)
  ].join('');
}

/* The group as the template has it. */
function group(offers) {
  const data = JSON.stringify(page.packed(offers)).replace(/"/g, '&quot;');
  return `<fieldset class="rbd-volume-options"
      data-rbd-offers="${data}"
              data-rbd-sources="/sources/" hidden disabled>
      <p data-rbd-status hidden></p>
      <p data-rbd-limits hidden></p>
      <details><summary data-rbd-summary></summary>
      <p data-rbd-source hidden></p>
      ${rows()}
      <details class="more"><summary>More</summary>
        ${row('wait', 'count', '<input name="rbd_wait">', 'No limit')}
        ${row('hint', 'word', select('rbd_hint', ['']))}
        ${row('sector_size', 'word', select('rbd_sector_size', ['']))}
      </details>
      <p data-rbd-preview></p></details>
    </fieldset>`;
}

/* Horizon's fields that the script reads, and ours. */
function markup(offers) {
  return `<form>
    ${select('volume_source_type', [
      '', 'volume_source', 'snapshot_source', 'image_source'])}
    ${select('volume_source', ['', 'v1'])}
    ${select('snapshot_source', ['', 's1'])}
    ${select('image_source', ['', 'i1'])}
    ${select('type', ['rbd', 'lvm', 'strict', 'fake', ''])}
    <input name="size" value="8">
${group(offers)}</form>`;
}

/*
 * Return a form and what a user does with it.
 *
 * answer: the response about a source; null if it fails, 'slow' if there is
 * none. asked: the addresses that were requested.
 */
function create() {
  const form = {};

  function reset() {
    Object.assign(form, {
      asked: [], answer: {volume_type: 'rbd', made: MADE}
    });
  }

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
    form.window = page.load(Object.assign({
      body: markup(offers),
      before: (loaded) => {
        loaded.jQuery.ajax = (request) => {
          form.asked.push(request.url);
          const found = loaded.jQuery.Deferred();
          if (form.answer === 'slow') {
            return found;
          }
          return form.answer ? found.resolve(form.answer) : found.reject();
        };
      }
    }, more));
    form.$ = form.window.jQuery;
  }

  function fill(name, value) {
    form.$(`[name="${name}"]`).val(value).trigger('change');
  }

  function tick(name, value) {
    const more = value ? `[value="${value}"]` : '';
    form.$(`[name="${name}"]${more}`).each((_, box) => {
      box.click();
    });
  }

  /* Goes on when jQuery has handed an answer on, which it does later. */
  function answered(goOn) {
    form.window.setTimeout(goOn, 20);
  }

  // Sizes have no-break spaces.
  const plain = (text) => text.replace(/\u00a0/g, ' ');
  const preview = () => plain(form.$('[data-rbd-preview]').text());
  const errors = () => Object.fromEntries(
    form.$('[role="alert"]:not([hidden])').get()
      .map((each) => [each.id.slice(0, -6), plain(each.textContent)]));
  const summary = () => plain(form.$('[data-rbd-summary]').text());
  const isOpen = () => form.$('fieldset > details').prop('open');
  const blank = (name) => plain(
    form.$(`[name="${name}"] option[value=""]`).text());
  const status = () => form.$('[data-rbd-status]').text();
  const ticked = () => form.$('[name="rbd_features"]:checked')
    .map((_, each) => each.value).get();
  const shown = () => form.$('[data-rbd-field]:not([hidden])')
    .map((_, each) => each.getAttribute('data-rbd-field')).get();
  const marked = () => form.$('.has-error')
    .map((_, each) => each.getAttribute('data-rbd-field')).get();
  const isDisabled = (name) => form.$(`[name="${name}"]`).prop('disabled');
  // What a browser sends: no disabled fields, and none in a disabled fieldset.
  const posted = () => Object.fromEntries(
    form.$('form').serializeArray().map((each) => [each.name, each.value]));
  const isHidden = () => form.$('.rbd-volume-options').prop('hidden');

  return Object.assign(form, {
    reset, open, fill, tick, answered, preview, errors, summary,
    isOpen, blank, status,
    ticked, shown, marked, isDisabled, posted, isHidden
  });
}

module.exports = {create, group, markup, MADE, OFFERS};
