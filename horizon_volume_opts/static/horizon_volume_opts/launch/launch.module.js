// SPDX-License-Identifier: Apache-2.0

/*
 * A step of the Launch Instance wizard: the layout of the volume that the
 * instance boots from. It uses the extension points of the wizard's workflow
 * and does not replace parts of it. Without the workflow it does nothing.
 */
(function () {
  'use strict';

  var STOCK = 'horizon.dashboard.project.workflow.launch-instance';
  var OURS = 'horizon.dashboard.rbd-volume-options.launch';

  var isThere = exists(STOCK);
  angular
    .module(OURS, isThere ? [STOCK] : [])
    .factory(OURS + '.layout', layout)
    .factory(OURS + '.offers', offers);
  if (isThere) {
    angular.module(OURS).config(extend);
  }

  /* Whether an Angular module exists; STOCK is in the project dashboard. */
  function exists(name) {
    try {
      return Boolean(angular.module(name));
    } catch (error) {
      return false;
    }
  }

  extend.$inject = ['$injector', '$provide'];

  /*
   * The step is added when the workflow is created, not earlier: creating the
   * workflow requests policies, which on the login page redirects the browser
   * to the login page in an endless loop. Decorating a service that does not
   * exist would prevent all pages from loading.
   */
  function extend($injector, $provide) {
    if ($injector.has(STOCK + '.workflowProvider')) {
      $provide.decorator(STOCK + '.workflow', addStep);
    }
  }

  addStep.$inject = ['$delegate', '$window', OURS + '.offers'];

  function addStep(workflow, $window, service) {
    var base = $window.STATIC_URL + 'horizon_volume_opts/launch/';
    workflow.after('source', {
      id: 'rbd-layout',
      title: gettext('Volume Layout'),
      templateUrl: base + 'layout.html',
      helpUrl: base + 'layout.help.html',
      formName: 'launchInstanceRBDLayoutForm',
      checkReadiness: service.isWorthShowing
    });
    return workflow;
  }

  layout.$inject = ['$window'];

  /* Sizes and rules; the Create Volume form uses them too. */
  function layout($window) {
    return $window.horizon.rbdLayout;
  }

  offers.$inject = ['$q', 'horizon.framework.util.http.service'];

  /* The offers of volume types and the layouts of volumes, from our routes. */
  function offers($q, http) {
    var known = $q.when(null);
    return {
      types: types,
      typeName: typeName,
      source: source,
      isWorthShowing: isWorthShowing
    };

    /*
     * Resolves to the offers by type name; null if they are not available at
     * the moment. One response serves the page, and callers wait for a request
     * that is under way. A response without the named type is older than the
     * type and is not used, here and on the server.
     */
    function types(named) {
      known = known.then(function (found) {
        return found && (!named || named in found)
          ? found : ask(named);
      });
      return known;
    }

    function ask(named) {
      return http.get(
        '/api/rbd_volume_options/types/', {params: {named: named}}
      ).then(
        function (response) {
          return horizon.rbdOffers.unpack(response.data);
        },
        function () {
          return null;
        }
      );
    }

    /*
     * Resolves to the name of the chosen type, or of the default type if none
     * is chosen; null if unknown. Horizon 25.3 (2025.1) does not offer a
     * choice of types.
     */
    function typeName(chosen) {
      if (chosen) {
        return $q.when(chosen);
      }
      return http.get('/api/cinder/volumetypes/default/').then(
        function (response) {
          return response.data.name;
        },
        function () {
          return null;
        }
      );
    }

    /* The RBD image of a volume or a snapshot's volume; null if unknown. */
    function source(kind, id) {
      return http.get(
        '/api/rbd_volume_options/sources/' + kind + '/' + id + '/'
      ).then(
        function (response) {
          return response.data.made;
        },
        function () {
          return null;
        }
      );
    }

    /* Whether any volume type has options. Without them, a step would have
     * neither an input nor a finding. If Cinder did not respond, the step says
     * so. */
    function isWorthShowing() {
      return types().then(function (found) {
        return found === null || Object.keys(found).some(function (name) {
          return !found[name].reason;
        });
      });
    }
  }
}());
