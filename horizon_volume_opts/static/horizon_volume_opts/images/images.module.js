// SPDX-License-Identifier: Apache-2.0

/*
 * A step of the dialogue Create Volume of a Glance image: the RBD volume
 * options. It uses the extension points of the workflow of that dialogue.
 */
(function () {
  'use strict';

  var STOCK = 'horizon.app.core.images';
  var WORKFLOW = STOCK + '.workflows.create-volume.service';
  var CINDER = 'horizon.app.core.openstack-service-api.cinder';
  var OURS = 'horizon.dashboard.rbd-volume-options.images';
  var LAUNCH = 'horizon.dashboard.rbd-volume-options.launch';

  angular
    .module(OURS, [LAUNCH])
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

  addStep.$inject = ['$delegate', '$window', LAUNCH + '.offers'];

  function addStep(workflow, $window, offers) {
    var base = $window.STATIC_URL + 'horizon_volume_opts/images/';
    workflow.append({
      id: 'rbd-volume-options',
      title: gettext('RBD Volume Options'),
      templateUrl: base + 'options.html',
      helpUrl: base + 'options.help.html',
      formName: 'rbdVolumeOptionsForm',
      checkReadiness: offers.isWorthShowing
    });
    return workflow;
  }

  explain.$inject = ['$delegate', 'horizon.framework.util.http.service'];

  /* The stock function hides why Cinder refused a volume. The dialogue shows
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
