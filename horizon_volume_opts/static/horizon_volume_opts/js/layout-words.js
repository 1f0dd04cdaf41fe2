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

/* The texts of the Create Volume form about a layout, for codes of rules. */

horizon.rbdLayoutWords = (function () {
  'use strict';

  var rules = horizon.rbdLayout;

  function number(value) {
    return value.toLocaleString(document.documentElement.lang || 'en');
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
      count: limits.maxCount,
      mapped: number(rules.MAX_OBJECT_MAP_OBJECTS),
      object: rules.sizeText(limits.minObjectSize),
      objects: number(limits.maxObjects || 0),
      size: gib,
      striping: rules.stripingText(layout)
    }, true);
  }

  return {
    origin: origin,
    preview: preview,
    problem: problem
  };
}());
