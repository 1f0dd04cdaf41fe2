// SPDX-License-Identifier: Apache-2.0

/* The content of the step RBD Volume Options: the fields of the Create Volume
 * form, with the same script. */
(function () {
  'use strict';

  angular
    .module('horizon.dashboard.rbd-volume-options.images')
    .controller('ImageRBDOptionsController', OptionsController)
    .directive('rbdVolumeOptionsOf', showGroup);

  OptionsController.$inject = [
    '$scope', '$window', 'horizon.framework.util.http.service',
    'horizon.dashboard.rbd-volume-options.launch.offers'
  ];

  function OptionsController($scope, $window, http, offers) {
    var ctrl = this;
    var group = null;
    // Without members of Object: a type can have the name of one of them.
    var asked = Object.create(null);

    ctrl.isEmpty = false;
    ctrl.isUnavailable = false;
    ctrl.show = show;

    function volume() {
      return $scope.stepModels.volumeForm || {};
    }

    /* Show the fields in an element, and keep them up to date. */
    function show($element) {
      // A string, because a new object in each digest would always differ.
      $scope.$watch(function () {
        return angular.toJson([volume().volume_type, volume().size]);
      }, function () {
        var name = volume().volume_type || '';
        // A response without the type is older than the type.
        if (!asked[name] && !(group && name in group.offers)) {
          // A look-up that fails is repeated when the user returns to it.
          asked[name] = true;
          load($element, name);
        } else if (group) {
          group.update();
        }
      });
    }

    /* The server has the offers in its cache when the script has them: the
     * page asks Cinder once, although the readiness of the step needs them
     * too. */
    function load($element, name) {
      offers.types(name).then(function () {
        return http.get(
          '/api/rbd_volume_options/form/', {params: {named: name || []}}
        );
      }).then(function (response) {
        fill($element, response.data);
      }, function () {
        delete asked[name];
        ctrl.isUnavailable = !group;
      });
    }

    function fill($element, html) {
      // Not compiled: Angular must not evaluate what is in it.
      var $group = $($.parseHTML(html)).filter('fieldset');
      ctrl.isUnavailable = false;
      if (group) {
        // The fields keep what the user chose.
        group.take($group.attr('data-rbd-offers'));
        group.update();
      } else if ($group.attr('data-rbd-offers')) {
        $element.empty().append($group);
        group = new $window.horizon.rbdVolumeOptions.Group($group, {
          source: source,
          size: function () { return volume().size; },
          changed: changed
        });
        $group.on('change input click', function () {
          group.update();
          $scope.$applyAsync();
        });
      }
    }

    function source() {
      // The features of a Glance image are not inherited, its layout is.
      return {
        status: 'known', isImage: true, type: volume().volume_type, made: null
      };
    }

    /* Other metadata of the volume stays. */
    function changed(metadata, isInvalid, isShown) {
      var there = volume().metadata || {};
      Object.keys(there).forEach(function (key) {
        if (/^rbd:/.test(key)) {
          delete there[key];
        }
      });
      angular.extend(there, metadata);
      ctrl.isEmpty = !isShown;
      if ($scope.rbdVolumeOptionsForm) {
        $scope.rbdVolumeOptionsForm.$setValidity('rbdOptions', !isInvalid);
      }
    }
  }

  function showGroup() {
    return {
      scope: {ctrl: '=rbdVolumeOptionsOf'},
      link: function (scope, $element) {
        scope.ctrl.show($element);
      }
    };
  }
}());
