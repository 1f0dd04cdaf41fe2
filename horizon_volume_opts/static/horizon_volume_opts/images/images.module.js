// SPDX-License-Identifier: Apache-2.0

/*
 * A step of the dialog Create Volume of a Glance image: the RBD volume
 * options. It uses the extension points of the workflow of that dialog.
 */
(function () {
  'use strict';

  var STOCK = 'horizon.app.core.images';
  var WORKFLOW = STOCK + '.workflows.create-volume.service';
  var CINDER = 'horizon.app.core.openstack-service-api.cinder';
  var OURS = 'horizon.dashboard.rbd-volume-options.images';
  var HTTP = 'horizon.framework.util.http.service';

  angular
    .module(OURS, [])
    // The server has the texts, in the language of the user.
    .value('rbdVolumeOptionsTexts', {title: 'RBD Volume Options'})
    .config(extend);

  extend.$inject = ['$injector', '$provide'];

  /* Decorating a service that does not exist would prevent all pages from
   * loading. */
  function extend($injector, $provide) {
    if ($injector.has(WORKFLOW + 'Provider') &&
        $injector.has(CINDER + 'Provider')) {
      $provide.decorator(WORKFLOW, addStep);
      $provide.decorator(CINDER, explain);
    }
  }

  addStep.$inject = [
    '$delegate', '$window', HTTP, 'rbdVolumeOptionsTexts'
  ];

  function addStep(workflow, $window, http, texts) {
    var step = {
      id: 'rbd-volume-options',
      templateUrl: $window.STATIC_URL +
        'horizon_volume_opts/images/options.html',
      formName: 'rbdVolumeOptionsForm',
      checkReadiness: isWorthShowing
    };

    // Another plug-in can have a workflow of another form.
    if (workflow && angular.isFunction(workflow.append)) {
      workflow.append(step);
    }
    return workflow;

    /* Whether any volume type has options, or whether that is not known. */
    function isWorthShowing() {
      return http.get('/api/rbd_volume_options/new-volume/').then(
        function (response) {
          angular.extend(texts, response.data);
          return texts.is_offered;
        },
        function (response) {
          angular.extend(texts, response && response.data);
          return true;
        }
      ).finally(function () {
        step.title = texts.title;
      });
    }
  }

  explain.$inject = ['$delegate', HTTP];

  /* The stock function hides why Cinder refused a volume. The dialog shows
   * what a rejected promise contains. */
  function explain(cinder, http) {
    var stock = cinder.createVolume;
    cinder.createVolume = function (volume) {
      var isOurs = Object.keys(volume.metadata || {}).some(function (key) {
        return /^rbd:/.test(key);
      });
      return isOurs ? http.post('/api/cinder/volumes/', volume)
        : stock(volume);
    };
    return cinder;
  }
}());
