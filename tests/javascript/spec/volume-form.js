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

/* A page with the Create Volume form, for the specs of its script. */
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
    <span data-rbd-help></span></div>`;
}

function features() {
  return FEATURES.map((each) => `<div class="checkbox">
    <input type="checkbox" name="rbd_features" value="${each}">
    <span class="help-block"></span></div>`);
}

/* Horizon's fields that the script reads, and ours as the templates have it. */
function markup(offers) {
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
        '<input name="rbd_stripe_count">')}
      ${row('object_map', 'rbd_object_map', select(
        'rbd_object_map', ['', 'true', 'false']))}
      <div data-rbd-field="rbd_choose_features">
        <input type="checkbox" name="rbd_choose_features"></div>
      ${row('features', 'rbd_features', `<fieldset class="rbd-features">
        ${features().join('')}</fieldset>`)}
      <p data-rbd-preview></p>
    </fieldset></form>`;
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

  const preview = () => form.$('[data-rbd-preview]').text();
  const isRefused = () => form.$('[data-rbd-preview]').hasClass('text-danger');
  const blank = (name) => form.$(`[name="${name}"] option[value=""]`).text();
  const status = () => form.$('[data-rbd-status]').text();
  const ticked = () => form.$('[name="rbd_features"]:checked')
    .map((_, each) => each.value).get();
  const shown = () => form.$('[data-rbd-field]:not([hidden])')
    .map((_, each) => each.getAttribute('data-rbd-field')).get();
  const marked = () => form.$('.has-warning')
    .map((_, each) => each.getAttribute('data-rbd-field')).get();
  const isDisabled = (name) => form.$(`[name="${name}"]`).prop('disabled');
  // What a browser sends: no disabled fields, and none in a disabled fieldset.
  const posted = () => Object.fromEntries(
    form.$('form').serializeArray().map((each) => [each.name, each.value]));
  const isHidden = () => form.$('.rbd-volume-options').prop('hidden');

  return Object.assign(form, {
    reset, open, fill, tick, answered, preview, isRefused, blank, status,
    ticked, shown, marked, isDisabled, posted, isHidden
  });
}

module.exports = {create, markup, MADE, OFFERS};
