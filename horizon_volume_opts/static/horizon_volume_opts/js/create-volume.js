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

/* The group of RBD volume options in the Create Volume form. It is shown for
 * types that offer options, with any type name. (Stock Horizon's
 * data-switch-on puts values into attribute names, which lose quotes, spaces
 * and capitals.) A data attribute has the offers of all types. */

horizon.rbdVolumeOptions = (function () {
  'use strict';

  var rules = horizon.rbdLayout;
  var words = horizon.rbdLayoutWords;
  var parts = horizon.rbdFieldParts;
  var KEYS = rules.KEYS;
  var SOURCES = {
    volume_source: 'volume',
    snapshot_source: 'snapshot',
    image_source: 'image'
  };

  function Group($group) {
    this.$group = $group;
    this.$form = $group.closest('form');
    this.offers = horizon.rbdOffers.unpack(
      JSON.parse($group.attr('data-rbd-offers')));
    parts.fillSizes($group, this.offers);
    this.sourceUrl = $group.attr('data-rbd-sources');
    this.sources = {};
    // The boxes of features that the user changed.
    this.picked = {};
    this.findRefused();
    this.keepPicks();
    // Also on clicks: lists of stock Horizon fail for a value with a quote.
    this.$form.on('change input click', this.update.bind(this));
    this.update();
  }

  /* Fields that the server refused stay until their value or the type is
   * changed, also if the type does not offer them. */
  Group.prototype.findRefused = function () {
    var refused = this.refused = {};
    this.refusedType = this.field('type').val();
    this.$group.find('[data-rbd-field].has-error').each(function () {
      refused[this.getAttribute('data-rbd-field')] = true;
    });
  };

  Group.prototype.isRefused = function (name) {
    var $field = this.field(name);
    var value = $field.is(':checkbox')
      ? $field.filter(':checked').length : $field.val();
    return Boolean(this.refused[name] && value &&
      this.field('type').val() === this.refusedType);
  };

  Group.prototype.keepPicks = function () {
    var picked = this.picked;
    var $boxes = this.row(KEYS.features).find('input');
    function keep() {
      picked[this.value] = this.checked;
    }
    if (this.field('rbd_choose_features').prop('checked')) {
      $boxes.each(keep);
    }
    // Before the handler of the form, which sets all boxes.
    $boxes.on('click', keep);
  };

  Group.prototype.field = function (name) {
    return this.$form.find('[name="' + name + '"]');
  };

  Group.prototype.row = function (key) {
    return this.$group.find('[data-rbd-key="' + key + '"]');
  };

  /* {kind, id} of the source of the volume; null for an empty volume. The id
   * is '' if no source is chosen yet. */
  Group.prototype.source = function () {
    var chosen = this.field('volume_source_type').val();
    var group = this;
    var found = Object.keys(SOURCES).filter(function (name) {
      var $field = group.field(name);
      return $field.length && (chosen ? chosen === name : $field.val());
    })[0];
    return found
      ? {kind: SOURCES[found], id: this.field(found).val()}
      : null;
  };

  /* Cinder's data about a source; {} during the request, null if it fails. */
  Group.prototype.lookUp = function (source) {
    var path = source.kind + '/' + encodeURIComponent(source.id) + '/';
    var group = this;
    if (!(path in this.sources)) {
      this.sources[path] = {};
      $.ajax({url: this.sourceUrl + path, dataType: 'json'}).then(
        function (found) { group.sources[path] = found; },
        function () { group.sources[path] = null; }
      ).always(this.update.bind(this));
    }
    return this.sources[path];
  };

  Group.prototype.update = function () {
    var source = this.source();
    var found = {volume_type: this.field('type').val()};
    this.fromImage = Boolean(source && source.kind === 'image');
    if (source && !this.fromImage) {
      found = source.id ? this.lookUp(source) : {};
    }
    this.made = found && found.made ? found.made : null;
    var reason = this.findOffer(found);
    var rows = this.showRows();
    var isEmpty = !this.offer && !rows;
    this.$group.prop({hidden: isEmpty && !reason, disabled: isEmpty});
    this.showLine('[data-rbd-status]', reason
      ? words.noOptions(reason, this.hasChosen()) : '');
    this.showLine('[data-rbd-source]', this.offer
      ? words.source(this.made, this.fromImage) : '');
    this.showLine('[data-rbd-limits]', words.limits(this.limits));
    if (this.offer) {
      this.showDefaults();
      this.showFeatures();
    }
    this.showPreview();
  };

  /* Set the offer of a type; return why there is none, or an empty text. */
  Group.prototype.findOffer = function (found) {
    this.offer = this.limits = null;
    if (!found) {
      return gettext('the source of the volume is not available');
    }
    var type = found.volume_type;
    // Not `in`: a type can have the same name as a member of Object.
    if (Object.prototype.hasOwnProperty.call(this.offers, type)) {
      var offer = this.offers[type];
      this.offer = offer.reason ? null : offer;
      this.limits = offer.limits;
      return offer.reason || '';
    }
    return type === '' ? gettext('no volume type is selected') : '';
  };

  Group.prototype.hasChosen = function () {
    return this.$group.find('select, input:not(:checkbox), :checked').is(
      function () { return this.value !== ''; });
  };

  Group.prototype.showLine = function (selector, text) {
    var $line = this.$group.find(selector).prop('hidden', !text);
    // Screen readers announce each change.
    if ($line.text() !== text) {
      $line.text(text);
    }
  };

  Group.prototype.option = function (key) {
    return this.offer.options[key];
  };

  Group.prototype.isSettable = function (key) {
    return Boolean(this.offer && this.option(key).settable);
  };

  Group.prototype.choosesFeatures = function () {
    return this.isSettable(KEYS.features) &&
      this.field('rbd_choose_features').prop('checked');
  };

  /* Hidden rows are disabled, so that they are not sent. Returns the number of
   * rows that are shown. */
  Group.prototype.showRows = function () {
    var group = this;
    var chooses = this.choosesFeatures();
    return this.$group.find('[data-rbd-field]').filter(function () {
      var name = this.getAttribute('data-rbd-field');
      var key = this.getAttribute('data-rbd-key') || KEYS.features;
      var shown = group.isSettable(key);
      if (key === KEYS.map) {
        // A complete set of features also decides on the object map.
        shown = shown && !chooses;
      } else if (name === 'rbd_features') {
        shown = shown && chooses;
      }
      shown = shown || group.isRefused(name);
      $(this).prop('hidden', !shown)
        .find('input, select').prop('disabled', !shown);
      return shown;
    }).length;
  };

  /* {value, from}: the default of a key and its origin. */
  Group.prototype.byDefault = function (key) {
    return rules.byDefault(key, this.option(key), this.origin());
  };

  /* The source in the form that the rules use. */
  Group.prototype.origin = function () {
    return {made: this.made, isImage: this.fromImage};
  };

  /* The text for the default of a key and its origin. */
  Group.prototype.defaultText = function (key, shown) {
    return words.byDefault(this.byDefault(key), shown, this.fromImage);
  };

  Group.prototype.showDefaults = function () {
    var group = this;
    var chosen = this.layout();
    function label(key, shown) {
      group.row(key).find('option[value=""]')
        .text(group.defaultText(key, shown));
    }
    label(KEYS.objectSize, rules.sizeText);
    label(KEYS.unit, rules.sizeText);
    label(KEYS.map, function (value) {
      return value ? gettext('yes') : gettext('no');
    });
    this.row(KEYS.unit).find('option').each(function () {
      var bytes = rules.parseSize(this.value);
      // Never the chosen one: a disabled option is not sent, but the server
      // must report what is wrong with it.
      this.disabled = !this.selected && chosen.objectSize !== null &&
        bytes > chosen.objectSize;
    });
    var allowed = this.option(KEYS.map).allowed;
    this.row(KEYS.map).find('option').each(function () {
      this.disabled = !this.selected && this.value !== '' &&
        allowed.indexOf(this.value === 'true') < 0;
    });
    // Stripe unit and stripe count are required together.
    var $unit = this.field('rbd_stripe_unit');
    var $count = this.field('rbd_stripe_count');
    $count.attr('max', this.option(KEYS.count).maximum);
    parts.show(this.row(KEYS.count).find('[data-rbd-help]'),
      this.defaultText(KEYS.count, words.number));
    $unit.prop('required', Boolean($count.val()));
    $count.prop('required', Boolean($unit.val()));
  };

  /* Each box that the user cannot change says why. */
  Group.prototype.showFeatures = function () {
    var $boxes = this.row(KEYS.features).find('input');
    var names = $boxes.map(function () { return this.value; }).get();
    if (!this.choosesFeatures()) {
      return;
    }
    horizon.rbdFeatures.boxes(
      names,
      this.option(KEYS.features),
      this.picked,
      this.byDefault(KEYS.features).value || []
    ).forEach(function (box, number) {
      var $box = $boxes.eq(number)
        .prop({checked: box.checked, disabled: box.disabled});
      parts.showBox($box.closest('.checkbox'), words.feature(box));
    });
  };

  /* The chosen value of a key; null if nothing is chosen. */
  Group.prototype.chosen = function (key, name, parse) {
    return this.isSettable(key) ? parse(this.field(name).val()) : null;
  };

  /* The layout that the volume would get. */
  Group.prototype.layout = function () {
    return rules.resolve({
      objectSize: this.chosen(
        KEYS.objectSize, 'rbd_object_size', rules.parseSize),
      unit: this.chosen(KEYS.unit, 'rbd_stripe_unit', rules.parseSize),
      count: this.chosen(KEYS.count, 'rbd_stripe_count', rules.parseCount),
      objectMap: this.chosenMap()
    }, this.offer.options, this.origin());
  };

  /* Whether an object map is chosen; null if nothing is chosen. */
  Group.prototype.chosenMap = function () {
    if (this.choosesFeatures()) {
      return this.row(KEYS.features).find('[value="object-map"]')
        .prop('checked');
    }
    return this.chosen(KEYS.map, 'rbd_object_map', function (text) {
      return text ? text === 'true' : null;
    });
  };

  Group.prototype.showPreview = function () {
    var gib = rules.parseGib(this.field('size').val());
    var text = '';
    var isProblem = false;
    if (this.offer && gib) {
      var problem = this.problem(gib);
      isProblem = Boolean(problem);
      text = problem || words.preview(gib, this.layout());
    }
    this.$group.find('[data-rbd-preview]')
      .toggleClass('text-danger', isProblem);
    this.showLine('[data-rbd-preview]', text);
  };

  /* What is wrong with the chosen values; an empty text if they are valid. */
  Group.prototype.problem = function (gib) {
    var limits = rules.limitsOf(this.offer);
    var layout = this.layout();
    // A number field has no value for a text that is not a number.
    var $count = this.field('rbd_stripe_count');
    var isNumber = !$count[0] || !$count[0].validity ||
      !$count[0].validity.badInput;
    var isBad = !isNumber || $count.val() && layout.count === null;
    if (this.isSettable(KEYS.count) && isBad) {
      return words.invalidCount(limits);
    }
    var code = rules.problem(gib * rules.GIB, layout, limits);
    return code ? words.problem(code, gib, layout, limits) : '';
  };

  function init(root) {
    // Without offers, the server shows only what it refused.
    $(root).find('fieldset[data-rbd-offers]').each(function () {
      if (!$(this).data('rbdGroup')) {
        $(this).data('rbdGroup', new Group($(this)));
      }
    });
  }

  horizon.addInitFunction(function () {
    init(document);
    horizon.modals.addModalInitFunction(init);
  });

  return {init: init};
}());
