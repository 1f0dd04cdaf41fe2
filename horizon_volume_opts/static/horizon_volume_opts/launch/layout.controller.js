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

/* What stands in the step Volume Layout. */
(function () {
  'use strict';

  angular
    .module('horizon.dashboard.rbd-volume-options.launch')
    .controller('LaunchInstanceRBDLayoutController', LayoutController);

  LayoutController.$inject = [
    '$scope',
    'horizon.dashboard.rbd-volume-options.launch.offers',
    'launchInstanceModel'
  ];

  var UNITS = [['GiB', 1 << 30], ['MiB', 1 << 20], ['KiB', 1 << 10]];
  var BY_CEPH = 'Ceph configuration';

  function LayoutController($scope, offers, model) {
    var ctrl = this;
    // new: Nova makes a volume; source: the volume, or the snapshot's, is
    // there; none: the instance has no volume.
    ctrl.kind = 'none';
    ctrl.rows = [];
    ctrl.reason = null;
    ctrl.isUnavailable = false;

    // One string, since a new object each time would never stay the same.
    $scope.$watch(chosen, show);

    function chosen() {
      var spec = model.newInstanceSpec;
      var source = (spec.source || [])[0] || {};
      return angular.toJson([
        (spec.source_type || {}).type,
        spec.vol_create,
        (spec.vol_type || {}).name,
        source.id
      ]);
    }

    function show(text) {
      var values = angular.fromJson(text);
      ctrl.rows = [];
      ctrl.reason = null;
      ctrl.isUnavailable = false;
      ctrl.volumeType = null;
      if (values[0] === 'volume' || values[0] === 'volume_snapshot') {
        ctrl.kind = 'source';
        if (values[3]) {
          showSource(text, values[0], values[3]);
        }
      } else if (values[0] && values[1]) {
        ctrl.kind = 'new';
        offers.typeName(values[2]).then(function (name) {
          return offers.types(name).then(function (found) {
            if (chosen() === text) {
              ctrl.volumeType = name;
              showType(found, name);
            }
          });
        });
      } else {
        ctrl.kind = 'none';
      }
    }

    function showType(found, name) {
      var offer = found && found[name];
      if (!offer) {
        ctrl.isUnavailable = true;
        return;
      }
      ctrl.reason = offer.reason;
      ctrl.rows = offer.reason ? [] : rowsOfType(offer.options);
    }

    function showSource(text, type, id) {
      var kind = type === 'volume' ? 'volume' : 'snapshot';
      offers.source(kind, id).then(function (made) {
        if (chosen() === text) {
          ctrl.isUnavailable = !made;
          ctrl.rows = made ? rowsOfImage(made) : [];
        }
      });
    }
  }

  function row(label, value) {
    return {label: label, value: value};
  }

  function rowsOfImage(made) {
    return [
      row(gettext('Object size'), size(made.object_size)),
      row(gettext('Striping'), striping(
        made.stripe_unit, made.stripe_count, made.object_size
      )),
      row(gettext('Object map'), yesOrNo(
        made.features.indexOf('object-map') !== -1
      ))
    ];
  }

  function rowsOfType(options) {
    var objectSize = options['rbd:object_size'] || {};
    var unit = options['rbd:stripe_unit'] || {};
    var count = options['rbd:stripe_count'] || {};
    var map = options['rbd:object_map'] || {};
    var mode = options['rbd:cache_mode'] || {};
    return [
      row(gettext('Object size'), ofType(objectSize, size)),
      row(gettext('Striping'), ofType(unit, function (value) {
        return striping(value, count['default'], objectSize['default']);
      })),
      row(gettext('Object map'), inWords(map, yesOrNo)),
      row(gettext('Cache mode'), inWords(mode, String))
    ];
  }

  function isGiven(option) {
    return angular.isDefined(option['default']) && option['default'] !== null;
  }

  function inWords(option, words) {
    return isGiven(option) ? words(option['default'])
      : gettext('settled when it is made or attached');
  }

  /* A layout that only Ceph says: that of the image, if it has one, wins. */
  function ofType(option, words) {
    if (!isGiven(option)) {
      return gettext('that of the image');
    }
    var text = words(option['default']);
    return option.default_from === BY_CEPH
      ? interpolate(gettext('%s, unless the image has another'), [text])
      : text;
  }

  function size(bytes) {
    for (var i = 0; i < UNITS.length; i++) {
      if (bytes >= UNITS[i][1] && bytes % UNITS[i][1] === 0) {
        return bytes / UNITS[i][1] + ' ' + UNITS[i][0];
      }
    }
    return bytes + ' B';
  }

  function striping(unit, count, objectSize) {
    if (!unit || !count || count === 1 && unit === objectSize) {
      return gettext('none');
    }
    return size(unit) + ' x ' + count;
  }

  function yesOrNo(value) {
    return value ? gettext('Yes') : gettext('No');
  }
}());
