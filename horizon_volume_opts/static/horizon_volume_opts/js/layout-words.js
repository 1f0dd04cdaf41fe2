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
   * image.
   */
  function byDefault(found, shown, isImage) {
    if (found.value === null && !found.from) {
      return isImage ? gettext('Default: same as the image')
        : gettext('Default: depends on the back end');
    }
    var text = found.value === null
      ? gettext('no striping') : shown(found.value);
    var by = origin(found.from);
    return interpolate(
      by ? gettext('Default: %(value)s (%(origin)s)')
        : gettext('Default: %(value)s'),
      {value: text, origin: by}, true);
  }

  /* What the field of a key is about. */
  function help(key) {
    var words = {};
    words[rules.KEYS.objectSize] =
      gettext('Size of the objects that hold the data.');
    words[rules.KEYS.unit] = gettext(
      'Contiguous bytes that are written to one object before the next ' +
      'one. A factor of the object size. Requires a stripe count.');
    words[rules.KEYS.count] = gettext(
      'Number of objects in a stripe. A larger count distributes small ' +
      'sequential writes over more disks.');
    words[rules.KEYS.map] = gettext(
      'Tracks which objects exist, so that a thin volume can be deleted, ' +
      'resized and compared quickly.');
    words[rules.KEYS.features] =
      gettext('The complete set of features. Replaces the default.');
    return words[key] || '';
  }

  /* What a feature does; an empty text for an unknown one. */
  function featureHelp(name) {
    var words = {
      'layering': gettext('Copy-on-write clones. Always enabled.'),
      'exclusive-lock':
        gettext('Only one client at a time writes to the image.'),
      'object-map': gettext('Tracks which objects exist.'),
      'fast-diff': gettext(
        'Fast comparison of snapshots. Enabled together with object-map.'),
      'deep-flatten': gettext(
        'Flattening a clone also detaches its snapshots from the parent.'),
      'journaling': gettext(
        'Writes go to a journal first, for mirroring. Slows down writes.')
    };
    return words[name] || '';
  }

  function notAllowed() {
    return gettext('Not allowed for this volume type.');
  }

  /* What is wrong with values of keys that the volume type does not offer. */
  function refused(keys) {
    var words = {};
    words[rules.KEYS.objectSize] = gettext('Object size');
    words[rules.KEYS.unit] = gettext('Stripe unit');
    words[rules.KEYS.count] = gettext('Stripe count');
    words[rules.KEYS.map] = gettext('Object map');
    words[rules.KEYS.features] = gettext('Image features');
    var labels = keys.map(function (key) { return words[key]; });
    return interpolate(
      gettext('Not allowed for this volume type: %s. Select the default, or ' +
        'another volume type.'), [labels.join(', ')]);
  }

  /* Why a user cannot change the box of a feature. */
  function feature(box) {
    if (box.why === horizon.rbdFeatures.WHY.notAllowed) {
      return notAllowed();
    }
    return box.why === horizon.rbdFeatures.WHY.requires
      ? interpolate(gettext('Requires %s.'), [box.missing.join(', ')]) : '';
  }

  /* Why there are no options of a type that Cinder's response lacks. */
  function noAnswer() {
    return gettext('Cinder did not return the options of this volume type');
  }

  /* Why there are no options; chosen: whether the user selected some. */
  function noOptions(reason, chosen) {
    var text = interpolate(
      gettext('This volume type offers no RBD volume options: %s.'), [reason]);
    return chosen
      ? text + ' ' + gettext('Cinder refuses the selected values. Select the ' +
        'defaults, or another volume type.') : text;
  }

  /* The limits on reads and writes that the volume type sets. */
  function limits(text) {
    return text
      ? interpolate(gettext('Limits of the volume type: %s.'), [text]) : '';
  }

  /* The source of a volume: made, its image; or a Glance image. */
  function source(made, isImage) {
    if (!made) {
      return isImage
        ? gettext('The volume type or the image sets other values.') : '';
    }
    return interpolate(
      gettext('The source has objects of %(object)s, %(unit)s x %(count)s' +
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
      gettext('%(size)s GiB is not a multiple of %(striping)s.');
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
    featureHelp: featureHelp,
    help: help,
    invalidCount: invalidCount,
    limits: limits,
    noAnswer: noAnswer,
    noOptions: noOptions,
    notAllowed: notAllowed,
    number: number,
    origin: origin,
    preview: preview,
    problem: problem,
    refused: refused,
    source: source
  };
}());
