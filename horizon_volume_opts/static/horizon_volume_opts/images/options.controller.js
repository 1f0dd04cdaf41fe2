// SPDX-License-Identifier: Apache-2.0

/* The content of the step RBD Volume Options: the group of the Create Volume
 * form, with the same script. */
(function () {
  'use strict';

  angular
    .module('horizon.dashboard.rbd-volume-options.images')
    .directive('rbdVolumeOptions', directive);

  directive.$inject = ['$window', 'rbdVolumeOptionsTexts'];

  function directive($window, texts) {
    return {
      link: function (scope, $element) {
        link(scope, $element, $window, texts);
      }
    };
  }

  function link($scope, $element, $window, texts) {
    var group = new $window.horizon.rbdGroup.Group($element.children(), {
      values: values,
      done: take
    });

    function volume() {
      return $scope.stepModels && $scope.stepModels.volumeForm || {};
    }

    function values() {
      return [
        {name: 'type', value: volume().volume_type || ''},
        {name: 'size', value: volume().size || ''},
        // Which image it is makes no difference.
        {name: 'image_source', value: 'image'}
      ];
    }

    $scope.$watch(function () {
      return angular.toJson(values());
    }, function () {
      group.update('', 0);
    });

    /* Other metadata of the volume stays. */
    function take(response) {
      var there = volume().metadata || {};
      $element.find('[data-rbd-failed]').text(texts.failed || texts.title);
      // Without a response, Cinder checks what was selected before.
      if (response) {
        Object.keys(there).forEach(function (key) {
          if (/^rbd:/.test(key)) {
            delete there[key];
          }
        });
        angular.extend(there, response.metadata);
      }
      if ($scope.rbdVolumeOptionsForm) {
        $scope.rbdVolumeOptionsForm.$setValidity(
          'rbdOptions', !response || response.is_valid);
      }
      $scope.$applyAsync();
    }
  }
}());
