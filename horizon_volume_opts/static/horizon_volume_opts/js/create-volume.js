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
  var KEYS = rules.KEYS;
  // The keys with a field in the form; the others do not apply to a volume.
  var ROWS = ['objectSize', 'unit', 'count', 'map', 'features'];
  var SOURCES = {
    volume_source: 'volume',
    snapshot_source: 'snapshot',
    image_source: 'image'
  };

  function Group($group) {
    this.$group = $group;
    this.$form = $group.closest('form');
    this.offers = JSON.parse($group.attr('data-rbd-offers'));
    this.sourceUrl = $group.attr('data-rbd-sources');
    this.sources = {};
    // Also on clicks: lists of stock Horizon fail for a value with a quote.
    this.$form.on('change input click', this.update.bind(this));
    this.update();
  }

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

  /* Cinder's data about a source; null during the request and if it fails. */
  Group.prototype.lookUp = function (source) {
    var path = source.kind + '/' + encodeURIComponent(source.id) + '/';
    var group = this;
    if (!(path in this.sources)) {
      this.sources[path] = null;
      $.ajax({url: this.sourceUrl + path, dataType: 'json'}).then(
        function (found) { group.sources[path] = found; },
        function () { group.sources[path] = null; }
      ).always(this.update.bind(this));
    }
    return this.sources[path];
  };

  Group.prototype.update = function () {
    var source = this.source();
    var type = this.field('type').val();
    this.made = null;
    this.fromImage = Boolean(source && source.kind === 'image');
    if (source && !this.fromImage) {
      var found = source.id ? this.lookUp(source) : null;
      type = found ? found.volume_type : null;
      this.made = found ? found.made : null;
    }
    // Not `in`: a type can have the same name as a member of Object.
    var known = Object.prototype.hasOwnProperty.call(this.offers, type);
    this.offer = known ? this.offers[type] : null;
    this.$group.prop({hidden: !this.offer, disabled: !this.offer});
    if (this.offer) {
      this.showSource();
      this.showRows();
      this.showDefaults();
      this.showFeatures();
      this.showPreview();
    }
  };

  Group.prototype.showSource = function () {
    var text = '';
    if (this.made) {
      text = interpolate(
        gettext('The source has objects of %(object)s, %(unit)s x %(count)s' +
          ' and the features %(features)s.'),
        {
          object: rules.sizeText(this.made.object_size),
          unit: rules.sizeText(this.made.stripe_unit),
          count: this.made.stripe_count,
          features: this.made.features.join(', ')
        },
        true
      );
    } else if (this.fromImage) {
      text = gettext('The volume type or the image sets other values.');
    }
    this.$group.find('[data-rbd-source]').text(text).prop('hidden', !text);
  };

  Group.prototype.option = function (key) {
    return this.offer.options[key];
  };

  Group.prototype.choosesFeatures = function () {
    return this.option(KEYS.features).settable &&
      this.field('rbd_choose_features').prop('checked');
  };

  /* Hidden rows are disabled, so that they are not sent. */
  Group.prototype.showRows = function () {
    var group = this;
    var chooses = this.choosesFeatures();
    ROWS.forEach(function (name) {
      var key = KEYS[name];
      var shown = group.option(key).settable;
      if (key === KEYS.map) {
        // A complete set of features also decides on the object map.
        shown = shown && !chooses;
      } else if (key === KEYS.features) {
        group.$group.find('[data-rbd-field="rbd_choose_features"]')
          .prop('hidden', !shown)
          .find('input').prop('disabled', !shown);
        shown = shown && chooses;
      }
      group.row(key).prop('hidden', !shown)
        .find('input, select').prop('disabled', !shown);
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

  function defaultText(found, shown) {
    if (found.value === null) {
      return gettext('Default');
    }
    var origin = words.origin(found.from);
    var text = origin
      ? gettext('Default: %(value)s (%(origin)s)')
      : gettext('Default: %(value)s');
    return interpolate(
      text, {value: shown(found.value), origin: origin}, true);
  }

  Group.prototype.showDefaults = function () {
    var group = this;
    var chosen = this.layout();
    function label(key, shown) {
      group.row(key).find('option[value=""]')
        .text(defaultText(group.byDefault(key), shown));
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
    $count.attr({
      max: this.option(KEYS.count).maximum,
      placeholder: defaultText(this.byDefault(KEYS.count), String)
    });
    $unit.prop('required', Boolean($count.val()));
    $count.prop('required', Boolean($unit.val()));
  };

  /* A box is disabled until all features that it requires are checked. */
  Group.prototype.showFeatures = function () {
    if (!this.choosesFeatures()) {
      this.ticked = false;
      return;
    }
    var option = this.option(KEYS.features);
    var boxes = {};
    var fresh = this.ticked === false;
    var defaults = this.byDefault(KEYS.features).value || [];
    this.row(KEYS.features).find('input').each(function () {
      boxes[this.value] = this;
      if (fresh) {
        this.checked = defaults.indexOf(this.value) >= 0;
      }
      $(this).closest('.checkbox')
        .prop('hidden', option.allowed.indexOf(this.value) < 0);
    });
    this.ticked = true;
    // The boxes are in the order of their requirements.
    $.each(boxes, function (name, box) {
      var needs = option.requires[name] || [];
      var met = needs.every(function (each) {
        return boxes[each] && boxes[each].checked;
      });
      var required = option.required.indexOf(name) >= 0;
      // librbd enables object-map and fast-diff together.
      var follows = name === 'fast-diff' && met;
      var allowed = option.allowed.indexOf(name) >= 0;
      box.checked = allowed && met && (box.checked || required || follows);
      box.disabled = !allowed || !met || required || follows;
    });
  };

  /* The chosen value of a key; null if nothing is chosen. */
  Group.prototype.chosen = function (key, name, parse) {
    return this.option(key).settable ? parse(this.field(name).val()) : null;
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
    var gib = parseInt(this.field('size').val(), 10) || 0;
    var layout = this.layout();
    var limits = rules.limitsOf(this.offer);
    var text = '';
    var code = null;
    if (gib > 0) {
      code = rules.problem(gib * rules.GIB, layout, limits);
      text = code
        ? words.problem(code, gib, layout, limits)
        : words.preview(gib, layout);
    }
    var $preview = this.$group.find('[data-rbd-preview]');
    $preview.toggleClass('text-danger', Boolean(code));
    if ($preview.text() !== text) {
      $preview.text(text);
    }
  };

  function init(root) {
    $(root).find('fieldset.rbd-volume-options').each(function () {
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
