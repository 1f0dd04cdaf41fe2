// SPDX-License-Identifier: Apache-2.0

/* The texts of forms about layouts and features, for codes of rules. */

horizon.rbdLayoutWords = (function () {
  'use strict';

  var rules = horizon.rbdLayout;

  /* A number, grouped as in the user's language. */
  function number(value) {
    return value.toLocaleString(horizon.languageCode || 'en');
  }

  /* The text for the origin of a default; undefined for other origins. */
  function origin(code) {
    var words = {};
    words[rules.ORIGINS.type] = gettext('set by the volume type');
    words[rules.ORIGINS.backend] = gettext('set by the back end');
    words[rules.ORIGINS.cluster] = gettext('set by Ceph');
    words[rules.ORIGINS.source] = gettext('same as the source');
    return words[code];
  }

  /*
   * "Default: 4 MiB (set by the back end)"
   *
   * found: {value, from}, of byDefault() in layout.js. shown: the function
   * that returns the text of a value. isImage: whether the source is a Glance
   * image. unset: the text for an option that nobody has set; without it, the
   * back end or the image decides.
   */
  function byDefault(found, shown, isImage, unset) {
    if (found.value === null && !found.from) {
      return unset || (isImage ? gettext('Default: same as the image')
        : gettext('Default: depends on the back end'));
    }
    var text = found.value === null
      ? gettext('no striping') : shown(found.value);
    var by = origin(found.from);
    return interpolate(
      by ? gettext('Default: %(value)s (%(origin)s)')
        : gettext('Default: %(value)s'),
      {value: text, origin: by}, true);
  }

  /* The values that a volume type permits. */
  function range(minimum, maximum) {
    return interpolate(
      gettext('%(minimum)s to %(maximum)s with this volume type.'),
      {minimum: minimum, maximum: maximum}, true);
  }

  function yesOrNo(value) {
    return value ? gettext('Yes') : gettext('No');
  }

  function notAllowed() {
    return gettext('Not allowed for this volume type. Select the default, ' +
      'or another volume type.');
  }

  /* Why a user cannot change the box of a feature. */
  function feature(box) {
    if (box.why === horizon.rbdFeatures.WHY.notAllowed) {
      return gettext('Not allowed for this volume type.');
    }
    return box.why === horizon.rbdFeatures.WHY.requires
      ? interpolate(gettext('Requires %s.'), [box.missing.join(', ')]) : '';
  }

  /* Why there are no options of a type that Cinder's response lacks. */
  function noAnswer() {
    return gettext('Cinder did not return the options of this volume type');
  }

  /* What is known about the source of a volume; empty if all is. */
  function status(code) {
    var words = {
      pending: gettext('Looking up the source of the volume.'),
      failed: gettext('The source of the volume is not available, so its ' +
        'options are not known.')
    };
    return words[code] || '';
  }

  /* The limits on reads and writes that the volume type sets. */
  function limits(text) {
    return text
      ? interpolate(gettext('Limits of the volume type: %s.'), [text]) : '';
  }

  /*
   * What a volume gets from its source.
   *
   * found: {made, isImage}, see byDefault() in layout.js. labels: a function
   * that returns the labels of the keys whose default passes a test.
   */
  function source(found, labels) {
    var made = found.made;
    if (!made) {
      return !found.isImage ? '' : [
        listed(gettext('Set by the image: %s.'), labels(
          function (each, key) {
            return each.from === null && rules.LAYOUT.indexOf(key) >= 0;
          })),
        listed(gettext('Set by the volume type: %s.'), labels(
          function (each) {
            return each.from === rules.ORIGINS.type;
          }))
      ].join(' ').trim();
    }
    return interpolate(
      gettext('The source has objects of %(object)s, %(unit)s × %(count)s' +
        ' and the features %(features)s.'),
      {
        object: rules.sizeText(made.object_size),
        unit: rules.sizeText(made.stripe_unit),
        count: number(made.stripe_count),
        features: made.features.join(', ')
      },
      true
    );
  }

  function listed(format, names) {
    return names ? interpolate(format, [names]) : '';
  }

  /* "Layout and features: 4 MiB objects, object map (default)"
   *
   * from: chosen, source or default. */
  function summary(layout, from) {
    var formats = {
      chosen: gettext('Layout and features: %s (selected)'),
      source: gettext('Layout and features: %s (same as the source)')
    };
    var parts = [
      layout.objectSize && interpolate(
        gettext('%s objects'), [rules.sizeText(layout.objectSize)]),
      rules.stripingText(layout),
      layout.objectMap === true && gettext('object map'),
      layout.objectMap === false && gettext('no object map')
    ].filter(Boolean);
    return interpolate(
      formats[from] || gettext('Layout and features: %s (default)'),
      [parts.join(', ') || gettext('depends on the back end')]);
  }

  function invalidCount(limits) {
    return interpolate(
      gettext('The stripe count must be a whole number from 1 to %s.'),
      [number(limits.maxCount)]);
  }

  /* "8 GiB = 2,048 objects of 4 MiB, 64 KiB x 8, with object map" */
  function preview(gib, layout) {
    var striping = rules.stripingText(layout);
    var text = layout.objectSize
      ? gettext('%(size)s GiB = %(count)s objects of %(object)s')
      : gettext("%(size)s GiB in objects of Ceph's default size");
    text = interpolate(text, {
      size: number(gib),
      count: layout.objectSize
        ? number(rules.objectCount(gib * rules.GIB, layout)) : '',
      object: rules.sizeText(layout.objectSize)
    }, true);
    if (striping) {
      text += ', ' + striping;
    }
    if (layout.objectMap === true) {
      text += gettext(', with object map');
    } else if (layout.objectMap === false) {
      text += gettext(', without object map');
    }
    return text;
  }

  function sentences() {
    var words = {};
    words[rules.CODES.striping] =
      gettext('Stripe unit and stripe count must be set together.');
    words[rules.CODES.unit] =
      gettext('The stripe unit is larger than the object size.');
    words[rules.CODES.count] =
      gettext('The maximum stripe count is %(count)s.');
    words[rules.CODES.map] = gettext(
      'An object map is limited to %(mapped)s objects. Choose a larger ' +
      'object size, or disable the object map.');
    words[rules.CODES.objectSize] =
      gettext('The minimum object size is %(object)s.');
    words[rules.CODES.stripes] =
      gettext(
      '%(size)s GiB is not a multiple of %(striping)s. Choose a power of two ' +
      'as the count, or another size.');
    words[rules.CODES.objects] = gettext(
      'The volume would have more than %(objects)s objects. Choose a ' +
      'larger object size.');
    return words;
  }

  /* The text for the code of the rule that a layout violates. */
  function problem(code, gib, layout, limits) {
    return interpolate(sentences()[code], {
      count: number(limits.maxCount || 0),
      mapped: number(rules.MAX_OBJECT_MAP_OBJECTS),
      object: rules.sizeText(limits.minObjectSize),
      objects: number(limits.maxObjects || 0),
      size: number(gib),
      striping: rules.stripingText(layout)
    }, true);
  }

  return {
    byDefault: byDefault,
    feature: feature,
    invalidCount: invalidCount,
    limits: limits,
    noAnswer: noAnswer,
    notAllowed: notAllowed,
    number: number,
    origin: origin,
    preview: preview,
    problem: problem,
    range: range,
    source: source,
    status: status,
    summary: summary,
    yesOrNo: yesOrNo
  };
}());
