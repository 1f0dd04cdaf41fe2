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

/*
 * A step of the Launch Instance wizard: which layout the volume gets that the
 * instance boots from. The wizard's workflow is made to be extended; nothing
 * of it is replaced, and where it isn't there, nothing happens.
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

  /* Whether there is a project dashboard here. */
  function exists(name) {
    try {
      return Boolean(angular.module(name));
    } catch (error) {
      return false;
    }
  }

  extend.$inject = ['$injector', '$provide'];

  /*
   * When the workflow is made, not before: making it asks for policies, which
   * on the login page sends the browser to the login page, for ever.
   * To decorate what isn't there would keep every page from coming up.
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

  /* Sizes and rules, which the Create Volume form uses too. */
  function layout($window) {
    return $window.horizon.rbdLayout;
  }

  offers.$inject = ['$q', 'horizon.framework.util.http.service'];

  /* What volume types offer, and what volumes are, from our own routes. */
  function offers($q, http) {
    return {
      types: types,
      typeName: typeName,
      source: source,
      isWorthShowing: isWorthShowing
    };

    /*
     * Answers null where nobody can tell at the moment. An answer that was
     * kept is older than the type that is named, if it lacks that type.
     */
    function types(named) {
      var asked = {params: {named: named}};
      return http.get('/api/rbd_volume_options/types/', asked).then(
        function (response) {
          return response.data;
        },
        function () {
          return null;
        }
      );
    }

    /*
     * The name of the type that was chosen; of the cloud's default one where
     * none was. Horizon 25.3 (2025.1) has no choice of it. Answers null where
     * nobody can tell.
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

    /* The layout of a volume, or of a snapshot's; null where it isn't known. */
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

    /* Not in a cloud without the extension of Cinder's API. */
    function isWorthShowing() {
      return types().then(function (found) {
        return found === null || Object.keys(found).length > 0;
      });
    }
  }
}());
