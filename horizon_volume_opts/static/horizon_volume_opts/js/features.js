// SPDX-License-Identifier: Apache-2.0

/*
 * The rules of image features, for the forms that create a volume. As
 * layout.js, this module does not change the page or translate texts.
 */

horizon.rbdFeatures = (function () {
  'use strict';

  /* Why a user cannot change a box. */
  var WHY = {
    notAllowed: 'not_allowed',
    requires: 'requires',
    required: 'required',
    together: 'together'
  };

  function has(list, item) {
    return list.indexOf(item) >= 0;
  }

  /*
   * The boxes of the features, in the order of names.
   *
   * names: each after those that it requires. option: the server's data about
   * the key. picked: {name: boolean} for the boxes that the user changed.
   * defaults: the features of a volume without a choice.
   *
   * Each box is {name, checked, disabled, why, missing}. A pick is only
   * suppressed, so that it is there again with another volume type or another
   * feature.
   */
  function boxes(names, option, picked, defaults) {
    var checked = {};
    return names.map(function (name) {
      var missing = (option.requires[name] || []).filter(function (each) {
        return !checked[each];
      });
      var why = reason(name, option, missing);
      var wish = name in picked ? picked[name] : has(defaults, name);
      checked[name] = why === null ? wish
        : why === WHY.required || why === WHY.together;
      return {
        name: name,
        checked: checked[name],
        disabled: why !== null,
        why: why,
        missing: missing
      };
    });
  }

  function reason(name, option, missing) {
    if (!has(option.allowed, name)) {
      return WHY.notAllowed;
    }
    if (missing.length) {
      return WHY.requires;
    }
    if (has(option.required, name)) {
      return WHY.required;
    }
    // librbd enables object-map and fast-diff together.
    return name === 'fast-diff' ? WHY.together : null;
  }

  return {WHY: WHY, boxes: boxes};
}());
