// SPDX-License-Identifier: Apache-2.0

/* The content of the step Volume Layout. */
(function () {
  'use strict';

  angular
    .module('horizon.dashboard.rbd-volume-options.launch')
    .controller('LaunchInstanceRBDLayoutController', LayoutController);

  LayoutController.$inject = [
    '$scope',
    '$window',
    'horizon.dashboard.rbd-volume-options.launch.layout',
    'horizon.dashboard.rbd-volume-options.launch.offers',
    'launchInstanceModel'
  ];

  function LayoutController($scope, $window, rules, offers, model) {
    var ctrl = this;
    var words = $window.horizon.rbdLayoutWords;
    // new: Nova creates a volume; source: the volume, or that of the
    // snapshot, exists; none: the instance has no volume.
    ctrl.kind = 'none';
    ctrl.rows = [];
    ctrl.summary = '';
    ctrl.reason = null;
    ctrl.isUnavailable = false;
    ctrl.isSettable = false;

    // A string, because a new object in each digest would always differ.
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
      ctrl.isSettable = false;
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
      if (!found) {
        ctrl.isUnavailable = true;
        return;
      }
      var offer = found[name];
      if (!offer) {
        ctrl.reason = words.noAnswer();
        return;
      }
      ctrl.reason = offer.reason;
      ctrl.rows = offer.reason ? [] : rowsOfType(offer.options);
      ctrl.summary = offer.reason ? '' : words.summary(rules.resolve(
        {objectSize: null, unit: null, count: null, objectMap: null},
        offer.options, {made: null, isImage: true}), 'default');
      if (offer.limits) {
        ctrl.rows.push(row(gettext('Limits'), offer.limits));
      }
      ctrl.isSettable = Object.keys(offer.options || {}).some(function (key) {
        return offer.options[key].settable;
      });
    }

    function showSource(text, type, id) {
      var kind = type === 'volume' ? 'volume' : 'snapshot';
      offers.source(kind, id).then(function (made) {
        if (chosen() === text) {
          ctrl.isUnavailable = !made;
          ctrl.rows = made ? rowsOfImage(made) : [];
          ctrl.summary = made ? words.summary({
            objectSize: made.object_size,
            unit: made.stripe_unit,
            count: made.stripe_count,
            objectMap: hasMap(made)
          }, 'source') : '';
        }
      });
    }

    function rowsOfImage(made) {
      return [
        row(gettext('Object size'), rules.sizeText(made.object_size)),
        row(gettext('Striping'), striping(
          made.stripe_unit, made.stripe_count, made.object_size
        )),
        row(gettext('Object map'), words.yesOrNo(hasMap(made)))
      ];
    }

    function rowsOfType(options) {
      var objectSize = options[rules.KEYS.objectSize] || {};
      var unit = options[rules.KEYS.unit] || {};
      var count = options[rules.KEYS.count] || {};
      var map = options[rules.KEYS.map] || {};
      var mode = options[rules.KEYS.cacheMode] || {};
      return [
        row(gettext('Object size'), ofType(objectSize, rules.sizeText)),
        row(gettext('Striping'), ofType(unit, function (value) {
          return striping(value, count.default, objectSize.default);
        })),
        row(gettext('Object map'), isGiven(map)
          ? withOrigin(words.yesOrNo(map.default), map)
          : gettext('depends on the back end')),
        row(gettext('Cache mode'), isGiven(mode)
          ? withOrigin(mode.default, mode)
          : gettext('set by the compute host'))
      ];
    }

    /* If a layout comes only from Ceph, that of the image overrides it. */
    function ofType(option, shown) {
      if (!isGiven(option)) {
        return gettext('same as the image');
      }
      var text = shown(option.default);
      return option.default_from === rules.ORIGINS.cluster
        ? interpolate(gettext('%s, unless the image has another value'), [text])
        : withOrigin(text, option);
    }

    function withOrigin(text, option) {
      var by = words.origin(option.default_from);
      return by ? text + ' (' + by + ')' : text;
    }

    function striping(unit, count, objectSize) {
      var layout = {unit: unit, count: count, objectSize: objectSize};
      return rules.stripingText(layout) || gettext('none');
    }
  }

  function row(label, value) {
    return {label: label, value: value};
  }

  function hasMap(made) {
    return made.features.indexOf('object-map') >= 0;
  }

  function isGiven(option) {
    return angular.isDefined(option.default) && option.default !== null;
  }
}());
