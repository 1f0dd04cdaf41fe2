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
  var STATUS = horizon.rbdVolumeSource.STATUS;

  function Group($group) {
    this.$group = $group;
    this.$form = $group.closest('form');
    this.offers = horizon.rbdOffers.unpack(
      JSON.parse($group.attr('data-rbd-offers')));
    parts.fillSizes($group, this.offers);
    this.source = new horizon.rbdVolumeSource.Source(
      this.$form, $group.attr('data-rbd-sources'), this.update.bind(this));
    // The boxes of features that the user changed.
    this.picked = {};
    this.keepPicks();
    // Also on clicks: lists of stock Horizon fail for a value with a quote.
    this.$form.on('change input click', this.update.bind(this));
    this.update();
  }

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

  Group.prototype.update = function () {
    var source = this.source.read();
    this.fromImage = source.isImage;
    this.made = source.made;
    // Whether a row without an offer is refused: not while it is unknown.
    this.isKnown = source.status === STATUS.known;
    this.findOffer(source.type);
    var rows = this.showRows();
    var text = this.status(source, rows > 0);
    var isEmpty = !this.offer && !rows;
    this.$group.prop({hidden: isEmpty && !text, disabled: isEmpty});
    this.showLine('[data-rbd-status]', text);
    this.showLine('[data-rbd-source]', this.offer
      ? words.source(this.made, this.fromImage) : '');
    this.showLine('[data-rbd-limits]', words.limits(this.limits));
    if (this.offer) {
      this.showDefaults();
      this.showFeatures();
    }
    this.showMarks();
    this.showPreview();
  };

  /* Set the offer of a type, and the reason if it has no options. */
  Group.prototype.findOffer = function (type) {
    // Not `in`: a type can have the same name as a member of Object.
    var offer = Object.prototype.hasOwnProperty.call(this.offers, type)
      ? this.offers[type] : {};
    this.offer = offer.options && !offer.reason ? offer : null;
    this.limits = offer.limits;
    this.reason = offer.reason;
  };

  /* Why there are no options; an empty text if there are some. */
  Group.prototype.status = function (source, hasRows) {
    if (source.status === STATUS.pending) {
      return gettext('Looking up the source of the volume.');
    }
    if (source.status === STATUS.failed) {
      return gettext(
        'The source of the volume is not available, so its options are not ' +
        'known.');
    }
    if (this.reason) {
      return words.noOptions(this.reason, hasRows);
    }
    if (source.type === '') {
      return words.noOptions(gettext('no volume type is selected'), hasRows);
    }
    // Other forms do not mention the options of such a type either.
    return this.offer || !hasRows || !this.isKnown ? ''
      : words.noOptions(words.noAnswer(), true);
  };

  /* Whether the user chose something in a row. */
  Group.prototype.hasChosen = function (name) {
    if (name === 'rbd_features' || name === 'rbd_choose_features') {
      return Boolean(this.field('rbd_choose_features').prop('checked'));
    }
    return Boolean(this.field(name).val()) || this.isBad(name);
  };

  /* Whether a field has a text that is not a number, which is no value. */
  Group.prototype.isBad = function (name) {
    var field = this.field(name)[0];
    return Boolean(field && field.validity && field.validity.badInput);
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

  Group.prototype.eachRow = function (action) {
    this.$group.find('[data-rbd-field]').each(function () {
      action($(this), this.getAttribute('data-rbd-field'),
        this.getAttribute('data-rbd-key') || KEYS.features);
    });
  };

  /* Hidden rows are disabled, so that they are not sent. A row with a value is
   * never hidden: the server honours or refuses it. Returns the number of rows
   * that are shown. */
  Group.prototype.showRows = function () {
    var group = this;
    var chooses = this.hasChosen('rbd_features');
    var count = 0;
    this.eachRow(function ($row, name, key) {
      var shown = group.isSettable(key) || group.hasChosen(name);
      if (key === KEYS.map) {
        // A complete set of features also decides on the object map.
        shown = shown && !chooses;
      } else if (name === 'rbd_features') {
        shown = chooses;
      }
      $row.prop('hidden', !shown)
        .find('input, select').prop('disabled', !shown);
      count += shown ? 1 : 0;
    });
    return count;
  };

  /* Mark the rows with a value that the type does not offer. */
  Group.prototype.showMarks = function () {
    var group = this;
    this.refused = [];
    this.eachRow(function ($row, name, key) {
      var isRefused = group.isKnown && !$row.prop('hidden') &&
        !group.isSettable(key);
      var $help = $row.find('[data-rbd-help]');
      $row.toggleClass('has-warning', isRefused);
      if (isRefused) {
        parts.show($help, words.notAllowed());
        if (group.refused.indexOf(key) < 0) {
          group.refused.push(key);
        }
      } else if (key !== KEYS.count || !group.offer) {
        parts.show($help, '');
      }
    });
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
    if (this.offer && (gib || this.refused.length)) {
      var problem = this.refused.length
        ? words.refused(this.refused) : this.problem(gib);
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
    var isBad = this.isBad('rbd_stripe_count') ||
      this.field('rbd_stripe_count').val() && layout.count === null;
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
