// SPDX-License-Identifier: Apache-2.0

/*
 * Offers of volume types, in the form that the server sends them: each
 * distinct description of an option is there once, see packing.py.
 */

horizon.rbdOffers = (function () {
  'use strict';

  /* Return {reason, require_whole_stripes, options, limits} for each name of a
   * type; limits is a text. */
  function unpack(data) {
    // Without members of Object: a type can have the name of one of them.
    var found = Object.create(null);
    Object.keys(data.types).forEach(function (name) {
      found[name] = offer(data.types[name], data);
    });
    Object.keys(data.limits || {}).forEach(function (text) {
      data.limits[text].forEach(function (name) {
        found[name].limits = text;
      });
    });
    return found;
  }

  function offer(packed, data) {
    if (!Array.isArray(packed)) {
      return {reason: packed, options: {}};
    }
    var options = {};
    data.keys.forEach(function (key, index) {
      options[key] = data.options[packed[index + 1]];
    });
    return {
      reason: null, require_whole_stripes: packed[0], options: options
    };
  }

  return {unpack: unpack};
}());
