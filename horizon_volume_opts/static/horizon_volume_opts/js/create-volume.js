// SPDX-License-Identifier: Apache-2.0

/* The group of RBD volume options in the forms that create a volume. It is
 * shown for types that offer options, with any type name. (Stock Horizon's
 * data-switch-on puts values into attribute names, which lose quotes, spaces
 * and capitals.) A data attribute has the offers of all types. The server
 * decides; this script shows its decision while the user fills in the form. */

horizon.rbdVolumeOptions = (function () {
  'use strict';

  var rules = horizon.rbdLayout;
  var words = horizon.rbdLayoutWords;
  var KEYS = rules.KEYS;
  var STATUS = horizon.rbdVolumeSource.STATUS;
  var CHOOSE = 'rbd_choose_features';
  var SECTOR_SIZE = 'rbd:sector_size';
  /* The count that is proposed with a stripe unit, if the type has none. */
  var COUNT = 8;

  /* How the values of each kind of row are shown. */
  var SHOWN = {
    size: rules.sizeText,
    count: words.number,
    rate: rules.sizeText,
    boolean: words.yesOrNo,
    word: String,
    features: String
  };

  /*
   * volume: what the form knows about the new volume, as functions: source,
   * see volume-source.js; size, the text of its field; and changed, which is
   * optional and called with the metadata, with whether it is invalid and
   * with whether the group is shown.
   */
  function Group($group, volume) {
    this.$group = $group;
    this.$details = $group.children('details');
    this.volume = volume;
    // The boxes of features that the user changed.
    this.picked = {};
    this.proposed = '';
    this.take($group.attr('data-rbd-offers'));
    this.listen();
    this.update();
  }

  /* Take other offers, such as those with a newer type. */
  Group.prototype.take = function (offers) {
    var group = this;
    this.offers = horizon.rbdOffers.unpack(JSON.parse(offers));
    this.$group.find('[data-rbd-kind="size"]').each(function () {
      fill($(this).find('select'), rules.range(
        group.offers, this.getAttribute('data-rbd-key')));
    });
  };

  Group.prototype.listen = function () {
    var group = this;
    var $boxes = this.row(KEYS.features).find('input');
    function keep() {
      group.picked[this.value] = this.checked;
    }
    if (this.value(CHOOSE)) {
      $boxes.each(keep);
    }
    // Before the handler of the form, which sets all boxes.
    $boxes.on('click', keep);
    this.row(KEYS.unit).on('change', this.propose.bind(this));
    // The errors of the server, until a value changes.
    this.refused = {};
    this.eachRow(function ($row, name) {
      group.refused[name] = $row.children('[role="alert"]').text();
    });
    this.$group.on('change input', function () {
      group.refused = {};
    }).on('focusout', function () {
      // The next element has the focus later.
      window.setTimeout(group.update.bind(group));
    });
  };

  /* A stripe unit requires a stripe count. */
  Group.prototype.propose = function () {
    var $count = this.field('rbd_stripe_count');
    var unit = this.value('rbd_stripe_unit');
    if (unit && !$count.val() && this.isSettable(KEYS.count)) {
      var count = this.byDefault(KEYS.count).value || COUNT;
      while (count > this.option(KEYS.count).maximum) {
        count = Math.floor(count / 2);
      }
      this.proposed = String(count);
      $count.val(this.proposed);
    } else if (!unit && $count.val() === this.proposed) {
      $count.val('');
    }
  };

  Group.prototype.field = function (name) {
    return this.$group.find('[name="' + name + '"]');
  };

  Group.prototype.row = function (key) {
    return this.$group.find('[data-rbd-key="' + key + '"]');
  };

  Group.prototype.update = function () {
    var source = this.volume.source();
    this.source = {made: source.made, isImage: source.isImage};
    // Whether a row without an offer is refused: not while it is unknown.
    this.isKnown = source.status === STATUS.known;
    this.findOffer(source.type);
    var rows = this.showRows();
    var status = words.status(source.status);
    this.$group.prop({
      hidden: !rows && !status && !this.limits, disabled: !rows
    });
    this.$details.prop('hidden', !rows);
    this.showLine('status', status);
    this.showLine('limits', words.limits(this.limits));
    this.showLine('source', this.offer
      ? words.source(this.source, this.labels.bind(this)) : '');
    if (this.offer) {
      this.showDefaults();
      this.showFeatures();
    }
    var isInvalid = this.showErrors();
    this.showSummary(isInvalid);
    if (this.volume.changed) {
      this.volume.changed(
        this.metadata(), isInvalid, !this.$group.prop('hidden'));
    }
  };

  /* Set the offer of a type; null if it has no options. */
  Group.prototype.findOffer = function (type) {
    var offer = this.offers[type] || {};
    this.offer = offer.options && !offer.reason ? offer : null;
    this.limits = offer.limits;
  };

  Group.prototype.value = function (name) {
    var $field = this.field(name);
    return $field.is(':checkbox') ? $field.prop('checked') : $field.val();
  };

  /* Whether the user chose something in a row. */
  Group.prototype.hasChosen = function (name) {
    return Boolean(this.value(name === 'rbd_features' ? CHOOSE : name));
  };

  Group.prototype.showLine = function (name, text) {
    var $line = this.$group.find('[data-rbd-' + name + ']')
      .prop('hidden', !text);
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
    return this.isSettable(KEYS.features) && this.value(CHOOSE);
  };

  Group.prototype.eachRow = function (action) {
    this.$group.find('[data-rbd-field]').each(function () {
      action($(this), this.getAttribute('data-rbd-field'),
        this.getAttribute('data-rbd-key') || KEYS.features,
        this.getAttribute('data-rbd-kind'));
    });
  };

  /* The labels of the keys for which a test is true. */
  Group.prototype.labels = function (test) {
    var group = this;
    return this.$group.find('[data-rbd-key]').filter(function () {
      var key = this.getAttribute('data-rbd-key');
      return test(group.byDefault(key), key);
    }).map(function () {
      return $(this).find('.control-label, legend').first().text();
    }).get().join(', ');
  };

  /* Hidden rows are disabled, so that they are not sent. A row with a value is
   * never hidden: the server honours or refuses it. Returns the number of rows
   * that are shown. */
  Group.prototype.showRows = function () {
    var group = this;
    var chooses = this.hasChosen(CHOOSE);
    var count = 0;
    this.eachRow(function ($row, name, key) {
      var shown = group.isSettable(key) || group.hasChosen(name);
      if (key === KEYS.map) {
        // A complete set of features also decides on the object map.
        shown = shown && !chooses;
      } else if (name === 'rbd_features') {
        shown = chooses;
      } else if (key === SECTOR_SIZE && group.source.made) {
        // The data of a source decide, and Cinder refuses another value.
        shown = group.hasChosen(name);
      }
      $row.prop('hidden', !shown)
        .find('input, select').prop('disabled', !shown);
      count += shown ? 1 : 0;
    });
    // A group of further options without any.
    this.$details.children('details').each(function () {
      this.hidden = !$(this).find('[data-rbd-field]:not([hidden])').length;
    });
    return count;
  };

  /* {value, from}: the default of a key and its origin. */
  Group.prototype.byDefault = function (key) {
    return rules.byDefault(key, this.option(key), this.source);
  };

  Group.prototype.showDefaults = function () {
    var group = this;
    var gib = rules.parseGib(this.volume.size());
    var objectSize = this.layout().objectSize;
    this.eachRow(function ($row, name, key, kind) {
      var option = group.option(key);
      if (kind === 'word') {
        fill($row.find('select'), option.allowed.map(function (each) {
          return {value: each, text: each};
        }));
      }
      $row.find('option[value=""], [data-rbd-default]').text(
        kind ? words.byDefault(
          group.byDefault(key), SHOWN[kind], group.source.isImage,
          $row.attr('data-rbd-unset')) : '');
      var $range = $row.find('[data-rbd-maximum]');
      var unlimited = Number($range.attr('data-rbd-maximum'));
      var largest = option.maximum;
      if (option.per_gib && largest === unlimited) {
        // At most the limit that follows from the size, if that is known.
        largest = Math.min(largest, gib && Math.max(
          option.per_gib * gib, option.per_gib_minimum || 0));
      }
      var smallest = Math.min(option.minimum, largest);
      $range.text(smallest > 1 || largest > 0 && largest < unlimited
        ? words.range(SHOWN[kind](smallest), SHOWN[kind](largest))
        : '');
      $row.find('option').each(function () {
        // Never the chosen one: a disabled option is not sent, but the server
        // must report what is wrong with it.
        this.disabled = !this.selected && this.value !== '' && (
          key === KEYS.unit && objectSize !== null &&
            rules.parseSize(this.value) > objectSize ||
          kind === 'boolean' &&
            option.allowed.indexOf(this.value === 'true') < 0);
      });
    });
  };

  /* Each box that the user cannot change says why. */
  Group.prototype.showFeatures = function () {
    var $boxes = this.row(KEYS.features).find('input');
    if (!this.choosesFeatures()) {
      return;
    }
    horizon.rbdFeatures.boxes(
      $boxes.map(function () { return this.value; }).get(),
      this.option(KEYS.features),
      this.picked,
      this.byDefault(KEYS.features).value || []
    ).forEach(function (box, number) {
      $boxes.eq(number).prop({checked: box.checked, disabled: box.disabled})
        .closest('.checkbox').find('[data-rbd-why]').text(words.feature(box));
    });
  };

  Group.prototype.features = function () {
    return this.row(KEYS.features).find('input:checked').map(function () {
      return this.value;
    }).get();
  };

  /* The chosen value of a key; null if nothing is chosen. */
  Group.prototype.chosen = function (key, name, parse) {
    return this.isSettable(key) && this.value(name)
      ? parse(this.value(name)) : null;
  };

  /* The layout that the volume would get. */
  Group.prototype.layout = function () {
    return rules.resolve({
      objectSize: this.chosen(
        KEYS.objectSize, 'rbd_object_size', rules.parseSize),
      unit: this.chosen(KEYS.unit, 'rbd_stripe_unit', rules.parseSize),
      count: this.chosen(KEYS.count, 'rbd_stripe_count', rules.parseCount),
      objectMap: this.choosesFeatures()
        ? this.features().indexOf('object-map') >= 0
        : this.chosen(KEYS.map, 'rbd_object_map', function (text) {
          return text === 'true';
        })
    }, this.offer.options, this.source);
  };

  /* Show what is wrong at its field; return whether something is. */
  Group.prototype.showErrors = function () {
    var errors = {};
    this.eachRow(function ($row, name, key) {
      if (this.isKnown && !$row.prop('hidden') && this.hasChosen(name) &&
          !this.isSettable(key)) {
        errors[key] = words.notAllowed();
      }
    }.bind(this));
    var problem = this.offer && !Object.keys(errors).length
      ? this.problem() : null;
    if (problem && !(problem.isOpen && this.isInPair())) {
      errors[problem.key] = problem.text;
    }
    this.eachRow(function ($row, name, key) {
      setError($row, this.refused[name] || errors[key] || '');
    }.bind(this));
    if (Object.keys(errors).length) {
      this.$details.prop('open', true);
      this.row(Object.keys(errors)[0]).closest('details').prop('open', true);
    }
    return Boolean(problem) || Object.keys(errors).length > 0;
  };

  /* Whether the user is about to complete the stripe unit and the count. */
  Group.prototype.isInPair = function () {
    return this.row(KEYS.unit).add(this.row(KEYS.count))
      .has(document.activeElement).length > 0;
  };

  /* {key, text, isOpen} of what is wrong; null if the values are valid. */
  Group.prototype.problem = function () {
    var limits = rules.limitsOf(this.offer);
    var layout = this.layout();
    var count = this.value('rbd_stripe_count');
    if (this.isSettable(KEYS.count) && count &&
        rules.parseCount(count) === null) {
      return {key: KEYS.count, text: words.invalidCount(limits)};
    }
    var gib = rules.parseGib(this.volume.size());
    var code = rules.problem(gib * rules.GIB, layout, limits);
    return code ? {
      key: rules.keyOf(code, layout),
      text: words.problem(code, gib, layout, limits),
      isOpen: code === rules.CODES.striping
    } : null;
  };

  Group.prototype.showSummary = function (isInvalid) {
    var gib = rules.parseGib(this.volume.size());
    var hasChosen = Boolean(this.$group.find('[data-rbd-field]').filter(
      function (_, row) {
        return this.hasChosen(row.getAttribute('data-rbd-field'));
      }.bind(this)).length);
    if (hasChosen && !this.wasChosen) {
      this.$details.prop('open', true);
    }
    this.wasChosen = hasChosen;
    this.showLine('preview', this.offer && gib && !isInvalid
      ? words.preview(gib, this.layout()) : '');
    if (this.offer) {
      this.showLine('summary', words.summary(
        this.layout(), hasChosen ? 'chosen' : 'default'));
    }
  };

  /* The metadata of the volume. */
  Group.prototype.metadata = function () {
    var group = this;
    var found = {};
    this.eachRow(function ($row, name, key, kind) {
      if (kind && !$row.prop('hidden') && group.isSettable(key)) {
        var value = kind === 'features'
          ? group.features().sort().join(',') : group.value(name);
        if (value) {
          found[key] = value;
        }
      }
    });
    return found;
  };

  function setError($row, text) {
    var $error = $row.children('[role="alert"]').prop('hidden', !text);
    // A row of a box has none.
    if (!$error.length) {
      return;
    }
    if ($error.text() !== text) {
      $error.text(text);
    }
    var $control = $row.find('.form-control, fieldset').first();
    var ids = ($control.attr('aria-describedby') || '').split(' ')
      .filter(function (each) { return each !== $error[0].id; });
    $control.attr('aria-describedby',
      ids.concat(text ? [$error[0].id] : []).join(' ').trim());
    $row.toggleClass('has-error', Boolean(text));
    if (text) {
      $control.attr('aria-invalid', 'true');
    } else {
      $control.removeAttr('aria-invalid');
    }
  }

  /* Fill a list with values: [{value, text}]. Its default and its value stay,
   * also if the latter is not one of them. */
  function fill($list, listed) {
    var chosen = $list.val();
    var values = listed.map(function (each) { return each.value; });
    $list.find('option').filter(function () {
      return this.value !== '' &&
        (this.value !== chosen || values.indexOf(chosen) >= 0);
    }).remove();
    $list.append(listed.map(function (each) {
      return $('<option>').val(each.value).text(each.text);
    })).val(chosen);
  }

  function ofForm($group) {
    var $form = $group.closest('form');
    var group;
    var source = new horizon.rbdVolumeSource.Source(
      $form, $group.attr('data-rbd-sources'), update);
    function update() {
      group.update();
    }
    group = new Group($group, {
      source: source.read.bind(source),
      size: function () { return $form.find('[name="size"]').val(); }
    });
    // Also on clicks: lists of stock Horizon fail for a value with a quote.
    $form.on('change input click', update);
    return group;
  }

  function init(root) {
    // Without offers, the server shows only what it refused.
    $(root).find('form fieldset[data-rbd-offers]').each(function () {
      if (!$(this).data('rbdGroup')) {
        $(this).data('rbdGroup', ofForm($(this)));
      }
    });
  }

  horizon.addInitFunction(function () {
    init(document);
    horizon.modals.addModalInitFunction(init);
  });

  return {Group: Group, init: init};
}());
