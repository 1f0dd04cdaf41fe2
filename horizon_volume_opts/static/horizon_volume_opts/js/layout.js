// SPDX-License-Identifier: Apache-2.0

/*
 * The layout of an RBD image: sizes and rules, for the Create Volume form and
 * for the Launch Instance wizard. This module does not change the page, send
 * requests or translate texts.
 *
 * The server decides. This module predicts its decision while the user fills
 * in the form. Its rules, terms and results are those of the Python package
 * rbd_volume_options; the tests of both use the same table of cases.
 */

horizon.rbdLayout = (function () {
  'use strict';

  var KIB = 1024;
  var MIB = 1024 * KIB;
  var GIB = 1024 * MIB;
  var UNITS = [['GiB', GIB], ['MiB', MIB], ['KiB', KIB]];
  var FACTORS = {K: KIB, M: MIB, G: GIB};
  var SIZE = /^([1-9][0-9]{0,18}|0)(?:([KMG])(?:iB)?|([kmg]))?$/;
  var COUNT = /^[1-9][0-9]{0,9}$/;
  var MAX_COUNT = Math.pow(2, 31) - 1;
  /* Larger numbers are not exact. */
  var MAX_BYTES = Math.pow(2, 53);

  /* The number of objects of at least this size is not limited. */
  var DEFAULT_OBJECT_SIZE = 4 * MIB;
  var MAX_OBJECT_MAP_OBJECTS = 256000000;

  var KEYS = {
    objectSize: 'rbd:object_size',
    unit: 'rbd:stripe_unit',
    count: 'rbd:stripe_count',
    map: 'rbd:object_map',
    features: 'rbd:features',
    cacheMode: 'rbd:cache_mode'
  };

  var LAYOUT = [KEYS.objectSize, KEYS.unit, KEYS.count];

  /* Where a value was set. */
  var ORIGINS = {
    volume: 'volume_metadata',
    type: 'volume_type',
    source: 'source_volume',
    backend: 'backend',
    image: 'glance_image',
    cluster: 'cluster'
  };

  /* The rule that a layout violates. */
  var CODES = {
    striping: 'striping_incomplete',
    unit: 'unit_not_a_factor',
    count: 'stripe_count_too_large',
    map: 'object_map_too_large',
    objectSize: 'object_size_too_small',
    stripes: 'not_whole_stripes',
    objects: 'too_many_objects'
  };

  /* Bytes of a metadata value such as 64K; null if it is not a size. */
  function parseSize(text) {
    var match = SIZE.exec(text);
    if (!match) {
      return null;
    }
    var unit = (match[2] || match[3] || '').toUpperCase();
    return Number(match[1]) * (FACTORS[unit] || 1);
  }

  /* Whole GiB of a field; 0 if it is not a size of a volume. */
  function parseGib(text) {
    var gib = COUNT.test(text) ? Number(text) : 0;
    return gib * GIB <= MAX_BYTES ? gib : 0;
  }

  /* A stripe count; null if it is not one. */
  function parseCount(text) {
    var count = COUNT.test(text) ? Number(text) : null;
    return count !== null && count <= MAX_COUNT ? count : null;
  }

  /* A size in bytes as text on one line: 64 KiB, 4 MiB, 512 B. */
  function sizeText(bytes) {
    for (var i = 0; i < UNITS.length; i++) {
      if (bytes >= UNITS[i][1] && bytes % UNITS[i][1] === 0) {
        return bytes / UNITS[i][1] + '\u00a0' + UNITS[i][0];
      }
    }
    return bytes + '\u00a0B';
  }

  /* A size in bytes as a metadata value: 64K, 4M, 512. */
  function sizeValue(bytes) {
    if (bytes % MIB === 0) {
      return bytes / MIB + 'M';
    }
    return bytes % KIB === 0 ? bytes / KIB + 'K' : String(bytes);
  }

  /* The powers of two of a range, for a list: [{value, text}]. Without valid
   * bounds, the list is empty. */
  function sizes(minimum, maximum) {
    var found = [];
    if (!(minimum > 0 && maximum <= MAX_BYTES)) {
      return found;
    }
    for (var bytes = minimum; bytes <= maximum; bytes *= 2) {
      found.push({value: sizeValue(bytes), text: sizeText(bytes)});
    }
    return found;
  }

  /* The sizes that at least one volume type allows for a key. */
  function range(offers, key) {
    var found = Object.keys(offers).map(function (name) {
      return offers[name].options[key];
    }).filter(function (each) {
      // A type that does not offer the key can lack its bounds.
      return each && each.minimum > 0 && each.maximum;
    });
    function bound(choose, name) {
      return choose.apply(null, found.map(function (each) {
        return each[name];
      }));
    }
    return found.length
      ? sizes(bound(Math.min, 'minimum'), bound(Math.max, 'maximum')) : [];
  }

  /* librbd represents an image without striping as a stripe unit equal to the
   * object size and a stripe count of 1. */
  function isStriped(layout) {
    return Boolean(layout.unit && layout.count) &&
      !(layout.count === 1 && layout.unit === layout.objectSize);
  }

  /* 64 KiB × 8, on one line; an empty text without striping. */
  function stripingText(layout) {
    return isStriped(layout)
      ? sizeText(layout.unit) + '\u00a0\u00d7\u00a0' + layout.count
      : '';
  }

  /* The maximum number of objects of an image: Striper::get_num_objects. */
  function objectCount(bytes, layout) {
    var unit = layout.unit || layout.objectSize;
    var count = layout.count || 1;
    var period = count * layout.objectSize;
    var total = Math.floor(bytes / period) * count;
    var rest = bytes % period;
    if (rest) {
      total += rest >= unit * count ? count : Math.ceil(rest / unit);
    }
    return total;
  }

  /* Whether the key was set on the volume or on its type. */
  function isAsked(origin) {
    return origin === ORIGINS.volume || origin === ORIGINS.type;
  }

  /* Whether the key, or its option in cinder.conf, was set. */
  function isGiven(origin) {
    return isAsked(origin) || origin === ORIGINS.backend;
  }

  function breaksStriping(bytes, layout, limits) {
    return limits.wholeStripes && isGiven(layout.stripingFrom) &&
      isStriped(layout) && bytes % (layout.unit * layout.count) !== 0;
  }

  function breaksUnit(layout) {
    return layout.objectSize && layout.unit &&
      layout.objectSize % layout.unit !== 0;
  }

  function hasTooMany(bytes, layout, limits) {
    var asked = isAsked(layout.objectSizeFrom) || isAsked(layout.stripingFrom);
    return asked && layout.objectSize &&
      layout.objectSize < DEFAULT_OBJECT_SIZE &&
      objectCount(bytes, layout) > limits.maxObjects;
  }

  function hasTooLargeMap(bytes, layout) {
    return layout.objectMap && layout.objectSize &&
      objectCount(bytes, layout) > MAX_OBJECT_MAP_OBJECTS;
  }

  /*
   * The code of the rule that the layout violates; null if it is valid.
   *
   * layout: the result of resolve(), with null for unknown values.
   * limits: {minObjectSize, maxObjects, maxCount, wholeStripes}.
   */
  function problem(bytes, layout, limits) {
    if (!layout.unit !== !layout.count) {
      return CODES.striping;
    }
    if (breaksUnit(layout)) {
      return CODES.unit;
    }
    if (isGiven(layout.stripingFrom) && layout.count > limits.maxCount) {
      return CODES.count;
    }
    if (hasTooLargeMap(bytes, layout)) {
      return CODES.map;
    }
    if (layout.objectSize && isAsked(layout.objectSizeFrom) &&
        layout.objectSize < limits.minObjectSize) {
      return CODES.objectSize;
    }
    if (breaksStriping(bytes, layout, limits)) {
      return CODES.stripes;
    }
    return hasTooMany(bytes, layout, limits) ? CODES.objects : null;
  }

  /* The key that shows the violation of a rule, as the server does it. */
  function keyOf(code, layout) {
    var keys = {};
    keys[CODES.striping] = layout.count === null ? KEYS.count : KEYS.unit;
    keys[CODES.unit] = KEYS.unit;
    keys[CODES.count] = keys[CODES.stripes] = KEYS.count;
    keys[CODES.map] = KEYS.map;
    return keys[code] || KEYS.objectSize;
  }

  /* The limits of a volume type, from the server's data about it. */
  function limitsOf(offer) {
    var size = offer.options[KEYS.objectSize];
    return {
      minObjectSize: size.minimum,
      maxObjects: size.maximum_objects,
      maxCount: offer.options[KEYS.count].maximum,
      wholeStripes: offer.require_whole_stripes
    };
  }

  /*
   * {value, from}: the default of a key for a volume, and its origin.
   *
   * option: the server's data about the key. source: {made, isImage}. made is
   * the server's data about the RBD image of a source volume or snapshot, or
   * null. isImage is whether the source is a Glance image, whose layout and
   * features are not known here.
   */
  function byDefault(key, option, source) {
    var made = source.made;
    if (made && option.default_from !== ORIGINS.type) {
      var values = {};
      values[KEYS.objectSize] = made.object_size;
      values[KEYS.unit] = made.stripe_unit;
      values[KEYS.count] = made.stripe_count;
      values[KEYS.map] = made.features.indexOf('object-map') >= 0;
      values[KEYS.features] = made.features;
      if (key in values) {
        return {value: values[key], from: ORIGINS.source};
      }
    }
    // The layout of a Glance image overrides that of Ceph; its features do
    // not.
    if (source.isImage && option.default_from === ORIGINS.cluster &&
        LAYOUT.indexOf(key) >= 0) {
      return {value: null, from: null};
    }
    return {
      value: 'default' in option ? option.default : null,
      from: option.default_from
    };
  }

  /* Stripe unit and count have the same origin; null without striping. */
  function defaultStriping(options, source) {
    var unit = byDefault(KEYS.unit, options[KEYS.unit], source);
    var count = byDefault(KEYS.count, options[KEYS.count], source);
    var striping = {unit: unit.value, count: count.value, from: unit.from};
    if (unit.from === ORIGINS.source && !isStriped({
      unit: unit.value,
      count: count.value,
      objectSize: source.made.object_size
    })) {
      striping.unit = null;
      striping.count = null;
    }
    return striping;
  }

  /*
   * The layout that a volume gets, for problem() and objectCount().
   *
   * chosen: {objectSize, unit, count, objectMap}, with null for values that
   * are not chosen. options: the server's data, by key. source: see
   * byDefault().
   */
  function resolve(chosen, options, source) {
    var objectSize = byDefault(
      KEYS.objectSize, options[KEYS.objectSize], source);
    var striping = defaultStriping(options, source);
    var map = byDefault(KEYS.map, options[KEYS.map], source);
    if (chosen.objectSize !== null) {
      objectSize = {value: chosen.objectSize, from: ORIGINS.volume};
    }
    if (chosen.unit !== null || chosen.count !== null) {
      striping = {
        unit: chosen.unit, count: chosen.count, from: ORIGINS.volume
      };
    }
    return {
      objectSize: objectSize.value,
      objectSizeFrom: objectSize.from,
      unit: striping.unit,
      count: striping.count,
      stripingFrom: striping.from,
      objectMap: chosen.objectMap === null ? map.value : chosen.objectMap
    };
  }

  return {
    GIB: GIB,
    MAX_OBJECT_MAP_OBJECTS: MAX_OBJECT_MAP_OBJECTS,
    KEYS: KEYS,
    LAYOUT: LAYOUT,
    ORIGINS: ORIGINS,
    CODES: CODES,
    parseSize: parseSize,
    parseCount: parseCount,
    parseGib: parseGib,
    sizeText: sizeText,
    sizes: sizes,
    range: range,
    isStriped: isStriped,
    stripingText: stripingText,
    objectCount: objectCount,
    problem: problem,
    keyOf: keyOf,
    limitsOf: limitsOf,
    byDefault: byDefault,
    resolve: resolve
  };
}());
