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

/* The layout of an RBD image in words, for forms. The rules themselves are
 * the server's; what is here shows early what it is going to say. */

horizon.rbdLayout = (function () {
  'use strict';

  var UNITS = [['GiB', 1 << 30], ['MiB', 1 << 20], ['KiB', 1 << 10]];
  var FACTORS = {'': 1, K: 1 << 10, M: 1 << 20, G: 1 << 30};

  /* Bytes of a metadata value such as 64K; null for what is none. */
  function parseSize(text) {
    var match = /^(\d+)([KMG]?)$/.exec(text || '');
    return match ? Number(match[1]) * FACTORS[match[2]] : null;
  }

  function sizeText(bytes) {
    for (var i = 0; i < UNITS.length; i++) {
      if (bytes >= UNITS[i][1] && bytes % UNITS[i][1] === 0) {
        return bytes / UNITS[i][1] + ' ' + UNITS[i][0];
      }
    }
    return bytes + ' B';
  }

  function number(value) {
    return value.toLocaleString(document.documentElement.lang || 'en');
  }

  /* How many objects an image has at most: Striper::get_num_objects. */
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

  function isStriped(layout) {
    return Boolean(layout.unit && layout.count) &&
      !(layout.count === 1 && layout.unit === layout.objectSize);
  }

  /* "8 GiB = 2,048 objects of 4 MiB, 64 KiB x 8, with object map" */
  function preview(gib, layout) {
    var text;
    if (layout.objectSize) {
      text = interpolate(
        gettext('%(size)s GiB = %(count)s objects of %(object)s'),
        {
          size: number(gib),
          count: number(objectCount(gib * FACTORS.G, layout)),
          object: sizeText(layout.objectSize)
        },
        true
      );
    } else {
      text = interpolate(
        gettext("%(size)s GiB in objects of Ceph's default size"),
        {size: number(gib)},
        true
      );
    }
    if (isStriped(layout)) {
      text += ', ' + sizeText(layout.unit) + ' x ' + layout.count;
    }
    if (layout.objectMap === true) {
      text += gettext(', with object map');
    } else if (layout.objectMap === false) {
      text += gettext(', without object map');
    }
    return text;
  }

  /* What the server is going to refuse; an empty text for nothing. */
  function problem(gib, layout, limits) {
    if (!layout.unit !== !layout.count) {
      return gettext('Stripe unit and stripe count go together.');
    }
    if (layout.objectSize && layout.unit > layout.objectSize) {
      return gettext('The stripe unit is larger than the object size.');
    }
    if (layout.count > limits.maximum) {
      return interpolate(
        gettext('The stripe count is at most %(maximum)s.'),
        {maximum: limits.maximum},
        true
      );
    }
    if (limits.wholeStripes && isStriped(layout) &&
        gib * FACTORS.G % (layout.unit * layout.count)) {
      return interpolate(
        gettext('%(size)s GiB is no multiple of %(unit)s x %(count)s.'),
        {
          size: gib,
          unit: sizeText(layout.unit),
          count: layout.count
        },
        true
      );
    }
    return '';
  }

  return {
    parseSize: parseSize,
    sizeText: sizeText,
    objectCount: objectCount,
    preview: preview,
    problem: problem
  };
}());
