// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

const APP = 'horizon.app.core';
const WORKFLOW = `${APP}.images.workflows.create-volume.service`;
const CINDER = `${APP}.openstack-service-api.cinder`;
const OURS = 'horizon.dashboard.rbd-volume-options.images';
const GROUP = '/api/rbd_volume_options/new-volume/';

describe('Create Volume of a Glance image', () => {
  let answer, asked, posted, steps, validity, volume, workflow, window;

  /* Horizon's services that ours use, as far as they are used. */
  function stock(loaded) {
    loaded.setTimeout = (action) => { action(); return 0; };
    loaded.jQuery.ajax = (request) => {
      asked.push(request.url);
      const deferred = loaded.jQuery.Deferred();
      return answer ? deferred.resolve(answer) : deferred.reject();
    };
    loaded.angular.module(`${APP}.images`, [])
      .factory(WORKFLOW, () => workflow);
    loaded.angular.module(APP, [`${APP}.images`])
      .factory(CINDER, () => ({createVolume: () => 'stock'}));
    loaded.angular.module('horizon.framework', [])
      .factory('horizon.framework.util.http.service', ['$q', ($q) => ({
        get: (url) => {
          asked.push(url);
          return answer ? $q.resolve({data: answer}) : $q.reject({});
        },
        post: (url, body) => {
          posted.push([url, body]);
          return $q.reject({data: 'RBD volume option refused: why'});
        }
      })]);
  }

  function injector() {
    window = page.load({before: stock});
    return window.angular.injector(['ng', APP, 'horizon.framework', OURS]);
  }

  /* The step, and what a user does with it. */
  function step() {
    const services = injector();
    const scope = services.get('$rootScope').$new();
    services.get('rbdVolumeOptionsTexts').failed = 'not available';
    scope.stepModels = {volumeForm: volume};
    scope.rbdVolumeOptionsForm = {
      $setValidity: (_, valid) => { validity = valid; }
    };
    const $ = window.jQuery;
    const $place = $(`<div rbd-volume-options>
      <fieldset data-rbd-group="${GROUP}?"><p data-rbd-failed hidden></p>
      <div data-rbd-content></div></fieldset></div>`)
      .appendTo(window.document.body);
    services.get('$compile')($place)(scope);
    scope.$apply();
    return {scope, $: (selector) => $place.find(selector)};
  }

  beforeEach(() => {
    answer = {
      html: '<div><input name="rbd_object_size" value="1M"></div>',
      metadata: {'rbd:object_size': '1M'},
      is_valid: true,
      is_offered: true
    };
    asked = [];
    posted = [];
    steps = [];
    workflow = {append: (each) => steps.push(each)};
    validity = null;
    volume = {volume_type: 'rbd', size: 8, metadata: {mine: 'kept'}};
  });

  it('has a step', () => {
    injector().get(WORKFLOW);
    expect(steps.map((each) => each.id)).toEqual(['rbd-volume-options']);
    expect(steps[0].templateUrl)
      .toBe('/static/horizon_volume_opts/images/options.html');
  });

  it('has the texts of the server, in the language of the user', () => {
    for (const [response, title] of [
      [{title: 'Optionen', is_offered: true}, 'Optionen'],
      [null, 'RBD Volume Options']
    ]) {
      answer = response;
      steps = [];
      const services = injector();
      services.get(WORKFLOW);
      steps[0].checkReadiness();
      services.get('$rootScope').$apply();
      expect(steps[0].title).toBe(title);
    }
  });

  it('leaves another workflow alone', () => {
    for (const other of [{}, null, {append: 'no function'}]) {
      workflow = other;
      expect(() => injector().get(WORKFLOW)).not.toThrow();
    }
  });

  it('shows the step if a type has options, or if it is not known', () => {
    for (const [response, expected] of [
      [{is_offered: true}, true], [{is_offered: false}, false], [null, true]
    ]) {
      answer = response;
      steps = [];
      const services = injector();
      services.get(WORKFLOW);
      let ready = null;
      steps[0].checkReadiness().then((each) => { ready = each; });
      services.get('$rootScope').$apply();
      expect(ready).toBe(expected);
    }
  });

  it('asks for the group with the values of the dialog', () => {
    const shown = step();
    const query = new window.URL(asked[0], 'http://x').searchParams;
    expect(query.get('type')).toBe('rbd');
    expect(query.get('size')).toBe('8');
    expect(query.get('image_source')).toBe('image');
    expect(shown.$('[name="rbd_object_size"]').val()).toBe('1M');
    volume.size = 9;
    shown.scope.$apply();
    expect(asked[asked.length - 1]).toContain('size=9');
  });

  it('adds the metadata to that of the volume', () => {
    step();
    expect(volume.metadata).toEqual({mine: 'kept', 'rbd:object_size': '1M'});
    expect(validity).toBe(true);
  });

  it('cannot be sent with a value that is not valid', () => {
    answer.is_valid = false;
    step();
    expect(validity).toBe(false);
  });

  it('can be sent if there is no response, with what was selected', () => {
    const shown = step();
    answer = null;
    volume.size = 9;
    shown.scope.$apply();
    expect(validity).toBe(true);
    expect(volume.metadata['rbd:object_size']).toBe('1M');
    expect(shown.$('[data-rbd-failed]').prop('hidden')).toBe(false);
    expect(shown.$('[data-rbd-failed]').text()).toBe('not available');
  });

  it('shows why Cinder refused the options', () => {
    const cinder = injector().get(CINDER);
    expect(cinder.createVolume({metadata: {}})).toBe('stock');
    cinder.createVolume({metadata: {'rbd:object_size': '1M'}});
    expect(posted[0][0]).toBe('/api/cinder/volumes/');
  });
});
