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

/* The content of the step RBD Volume Options. */
(function () {
  'use strict';

  angular
    .module('horizon.dashboard.rbd-volume-options.images')
    .controller('ImageRBDOptionsController', OptionsController);

  OptionsController.$inject = [
    '$scope',
    '$window',
    'horizon.dashboard.rbd-volume-options.launch.offers'
  ];

  var FEATURES = [
    'layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten',
    'journaling'
  ];
  var ROWS = ['objectSize', 'unit', 'count', 'map', 'features'];
  // The features of a Glance image are not inherited, its layout is.
  var SOURCE = {made: null, isImage: true};

  function OptionsController($scope, $window, offers) {
    var ctrl = this;
    var rules = $window.horizon.rbdLayout;
    var words = $window.horizon.rbdLayoutWords;
    var KEYS = rules.KEYS;

    ctrl.offer = null;
    ctrl.reason = '';
    ctrl.isUnavailable = false;
    ctrl.picked = {};
    ctrl.reset = reset;
    ctrl.pick = pick;
    ctrl.isSettable = isSettable;
    ctrl.isShown = isShown;
    ctrl.help = {};
    ['objectSize', 'unit', 'count', 'map'].forEach(function (name) {
      ctrl.help[name] = words.help(KEYS[name]);
    });
    ctrl.featureHelp = words.featureHelp;
    reset();

    $scope.$watch(typeName, showType);
    // Both change what is created. Strings, because new objects differ.
    $scope.$watch(function () {
      return angular.toJson(
        [ctrl.chosen, ctrl.picked, volume().size, isBadCount()]);
    }, update);

    function volume() {
      return $scope.stepModels.volumeForm || {};
    }

    function typeName() {
      return volume().volume_type;
    }

    function reset() {
      ctrl.picked = {};
      ctrl.chosen = {
        objectSize: '', unit: '', count: null, map: '', features: false
      };
    }

    function pick(box) {
      ctrl.picked[box.name] = !box.checked;
    }

    function isSettable(name) {
      return Boolean(ctrl.offer && ctrl.offer.options[KEYS[name]].settable);
    }

    /* Whether a row is shown: a value is never hidden. */
    function isShown(name) {
      return isSettable(name) || has(name);
    }

    /* Whether the user chose a value. */
    function has(name) {
      var value = ctrl.chosen[name];
      return name === 'count' ? isBadCount() || angular.isNumber(value)
        : Boolean(value);
    }

    /* Whether the stripe count is not one. A number field has no value for a
     * text that is not a number. */
    function isBadCount() {
      var count = ctrl.chosen.count;
      var field = ($scope.rbdVolumeOptionsForm || {}).rbdStripeCount;
      return Boolean(field && field.$invalid) ||
        angular.isNumber(count) && rules.parseCount(count) === null;
    }

    function showType(name) {
      offers.types(name || []).then(function (found) {
        if (typeName() === name) {
          var offer = found && found[name];
          ctrl.isUnavailable = found === null;
          ctrl.reason = offer ? nothing(offer) : name
            ? words.noAnswer() : gettext('no volume type is selected');
          ctrl.offer = offer && !ctrl.reason ? offer : null;
          ctrl.limits = words.limits(offer && offer.limits);
          if (ctrl.offer) {
            fill(ctrl.offer.options);
          }
          update();
        }
      });
    }

    /* Why there is nothing to select; an empty text if there is something. */
    function nothing(offer) {
      var can = Object.keys(offer.options).some(function (key) {
        return key !== KEYS.cacheMode && offer.options[key].settable;
      });
      return offer.reason ||
        (can ? '' : gettext('you may not set any of them'));
    }

    function fill(options) {
      ctrl.objectSizes = sizes(KEYS.objectSize, options);
      ctrl.units = sizes(KEYS.unit, options);
      ctrl.count = text(KEYS.count, options, words.number);
      ctrl.maximum = options[KEYS.count].maximum;
      ctrl.maps = [
        {value: '', text: text(KEYS.map, options, yesOrNo)},
        {value: 'true', text: yesOrNo(true)},
        {value: 'false', text: yesOrNo(false)}
      ].filter(function (each) {
        return each.value === '' ||
          options[KEYS.map].allowed.indexOf(each.value === 'true') >= 0;
      });
    }

    function text(key, options, shown) {
      return words.byDefault(
        rules.byDefault(key, options[key], SOURCE), shown, true);
    }

    function sizes(key, options) {
      var blank = {value: '', text: text(key, options, rules.sizeText)};
      var listed = [blank].concat(
        rules.sizes(options[key].minimum, options[key].maximum));
      // A value that was chosen for another type.
      var value = ctrl.chosen[key === KEYS.unit ? 'unit' : 'objectSize'];
      var isListed = listed.some(function (each) {
        return each.value === value;
      });
      return isListed ? listed : listed.concat(
        {value: value, text: rules.sizeText(rules.parseSize(value))});
    }

    function update() {
      var metadata = ctrl.offer ? chosenKeys() : {};
      var problem = '';
      ctrl.preview = '';
      if (ctrl.offer) {
        ctrl.boxes = boxes();
        problem = refused() || preview();
      } else if (hasChosen()) {
        problem = gettext('Reset the options, or select another volume type.');
      }
      ctrl.problem = problem;
      store(metadata);
      if ($scope.rbdVolumeOptionsForm) {
        $scope.rbdVolumeOptionsForm.$setValidity('rbdOptions', !problem);
      }
    }

    function hasChosen() {
      return ROWS.some(has);
    }

    /* What is wrong with values that the type does not allow. */
    function refused() {
      var found = ROWS.filter(function (name) {
        return has(name) && !isSettable(name);
      }).filter(function (name) {
        // The set of features includes the object map.
        return name !== 'map' || !ctrl.chosen.features;
      });
      return found.length ? words.refused(found.map(function (name) {
        return KEYS[name];
      })) : '';
    }

    function boxes() {
      var options = ctrl.offer.options;
      var found = rules.byDefault(
        KEYS.features, options[KEYS.features], SOURCE).value;
      return $window.horizon.rbdFeatures.boxes(
        FEATURES, options[KEYS.features], ctrl.picked, found || []
      ).map(function (box) {
        box.reason = words.feature(box);
        return box;
      });
    }

    function names() {
      return ctrl.boxes.filter(function (box) {
        return box.checked;
      }).map(function (box) {
        return box.name;
      });
    }

    function chosenKeys() {
      var found = {};
      ctrl.boxes = boxes();
      ['objectSize', 'unit', 'count', 'map'].forEach(function (name) {
        if (ctrl.chosen[name]) {
          found[KEYS[name]] = String(ctrl.chosen[name]);
        }
      });
      if (ctrl.chosen.features) {
        // The set of features includes the object map.
        delete found[KEYS.map];
        found[KEYS.features] = names().sort().join(',');
      }
      return found;
    }

    function preview() {
      var gib = rules.parseGib(volume().size);
      var limits = rules.limitsOf(ctrl.offer);
      if (isBadCount()) {
        return words.invalidCount(limits);
      }
      var layout = rules.resolve({
        objectSize: rules.parseSize(ctrl.chosen.objectSize),
        unit: rules.parseSize(ctrl.chosen.unit),
        count: rules.parseCount(ctrl.chosen.count),
        objectMap: objectMap()
      }, ctrl.offer.options, SOURCE);
      var code = gib
        ? rules.problem(gib * rules.GIB, layout, limits) : null;
      if (code) {
        return words.problem(code, gib, layout, limits);
      }
      ctrl.preview = gib ? words.preview(gib, layout) : '';
      return '';
    }

    function objectMap() {
      if (ctrl.chosen.features) {
        return names().indexOf('object-map') >= 0;
      }
      return ctrl.chosen.map ? ctrl.chosen.map === 'true' : null;
    }

    /* Other metadata of the volume stays. */
    function store(metadata) {
      var there = volume().metadata;
      if (there) {
        Object.keys(there).forEach(function (key) {
          if (/^rbd:/.test(key)) {
            delete there[key];
          }
        });
        angular.extend(there, metadata);
      }
    }
  }

  function yesOrNo(value) {
    return value ? gettext('Yes') : gettext('No');
  }
}());
