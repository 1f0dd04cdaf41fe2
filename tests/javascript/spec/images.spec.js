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

'use strict';

const page = require('./page');

const OFFERS = page.offers('wizard');
const APP = 'horizon.app.core';
const WORKFLOW = `${APP}.images.workflows.create-volume.service`;
const CINDER = `${APP}.openstack-service-api.cinder`;
const OURS = 'horizon.dashboard.rbd-volume-options.images';
const TYPES = '/api/rbd_volume_options/types/';

describe('Create Volume of a Glance image', () => {
  let answers, posted, steps, validity, volume;

  /* Horizon's services that ours use, as far as they are used. */
  function stock(window) {
    window.angular.module(`${APP}.images`, [])
      .factory(WORKFLOW, () => ({append: (step) => steps.push(step)}));
    window.angular.module(APP, [`${APP}.images`])
      .factory(CINDER, () => ({createVolume: () => 'stock'}));
    window.angular.module('horizon.framework', [])
      .factory('horizon.framework.util.http.service', ['$q', ($q) => ({
        get: (url) => url in answers
          ? $q.resolve({
            data: url === TYPES ? page.packed(answers[url]) : answers[url]
          }) : $q.reject({status: 503}),
        post: (url, body) => {
          posted.push([url, body]);
          return $q.reject({data: 'RBD volume option refused: why'});
        }
      })]);
  }

  function injector() {
    const window = page.load({before: stock});
    return window.angular.injector(['ng', APP, 'horizon.framework', OURS]);
  }

  function step() {
    const found = injector();
    const scope = found.get('$rootScope').$new();
    scope.stepModels = {volumeForm: volume};
    scope.rbdVolumeOptionsForm = {
      $setValidity: (_, valid) => { validity = valid; }
    };
    const ctrl = found.get('$controller')(
      'ImageRBDOptionsController', {$scope: scope});
    scope.$apply();
    return {ctrl, scope};
  }

  beforeEach(() => {
    answers = {[TYPES]: JSON.parse(JSON.stringify(OFFERS))};
    posted = [];
    steps = [];
    validity = null;
    volume = {volume_type: 'rbd', size: 8, metadata: {mine: 'kept'}};
  });

  it('has a step', () => {
    injector().get(WORKFLOW);
    expect(steps.map((each) => each.id)).toEqual(['rbd-volume-options']);
    expect(steps[0].templateUrl)
      .toBe('/static/horizon_volume_opts/images/options.html');
  });

  it('has none in a Horizon without that dialogue', () => {
    const window = page.load();
    const found = window.angular.injector(['ng', OURS]);
    expect(found.has(WORKFLOW)).toBe(false);
  });

  it('sends nothing that is not selected', () => {
    const {ctrl} = step();
    expect(ctrl.objectSizes[0].text)
      .toBe('Default: 4 MiB (set by the back end)');
    expect(ctrl.preview)
      .toBe('8 GiB = 2,048 objects of 4 MiB, with object map');
    expect(volume.metadata).toEqual({mine: 'kept'});
    expect(validity).toBe(true);
  });

  it('sends what is selected', () => {
    const {ctrl, scope} = step();
    Object.assign(ctrl.chosen, {
      objectSize: '1M', unit: '64K', count: 8, map: 'false'
    });
    scope.$apply();
    expect(ctrl.preview).toContain('8,192 objects of 1 MiB, 64 KiB x 8');
    expect(volume.metadata).toEqual({
      'mine': 'kept',
      'rbd:object_size': '1M',
      'rbd:stripe_unit': '64K',
      'rbd:stripe_count': '8',
      'rbd:object_map': 'false'
    });
    ctrl.reset();
    scope.$apply();
    expect(volume.metadata).toEqual({mine: 'kept'});
  });

  it('sends a set of features', () => {
    const {ctrl, scope} = step();
    ctrl.chosen.features = true;
    ctrl.chosen.map = 'true';
    scope.$apply();
    ctrl.pick(ctrl.boxes.filter((each) => each.name === 'object-map')[0]);
    scope.$apply();
    expect(volume.metadata).toEqual({
      'mine': 'kept', 'rbd:features': 'exclusive-lock,layering'
    });
    expect(ctrl.boxes[4].reason).toBe('Not allowed for this volume type.');
  });

  it('does not let an invalid layout pass', () => {
    const {ctrl, scope} = step();
    ctrl.chosen.unit = '64K';
    scope.$apply();
    expect(ctrl.problem)
      .toBe('Stripe unit and stripe count must be set together.');
    expect(validity).toBe(false);
  });

  it('does not drop a selection with another type', () => {
    const {ctrl, scope} = step();
    volume.volume_type = 'lvm';
    scope.$apply();
    expect(ctrl.reason).toContain('no back end');
    expect(validity).toBe(true);
    volume.volume_type = 'rbd';
    ctrl.chosen.objectSize = '1M';
    scope.$apply();
    volume.volume_type = 'lvm';
    scope.$apply();
    expect(validity).toBe(false);
    expect(ctrl.problem).toContain('Reset the options');
    volume.volume_type = 'rbd';
    scope.$apply();
    expect(volume.metadata['rbd:object_size']).toBe('1M');
    expect(validity).toBe(true);
  });

  it('names what another type does not allow', () => {
    const {ctrl, scope} = step();
    answers[TYPES].strict = JSON.parse(JSON.stringify(OFFERS.rbd));
    const options = answers[TYPES].strict.options;
    for (const key of ['object_size', 'stripe_unit', 'stripe_count']) {
      options[`rbd:${key}`] = {settable: false, default: null};
    }
    Object.assign(ctrl.chosen, {objectSize: '1M', unit: '64K', count: 4});
    scope.$apply();
    expect(validity).toBe(true);
    volume.volume_type = 'strict';
    scope.$apply();
    expect(validity).toBe(false);
    expect(ctrl.problem).toBe('Not allowed for this volume type: Object ' +
      'size, Stripe unit, Stripe count. Select the default, or another ' +
      'volume type.');
    // The fields stay, with their values.
    for (const name of ['objectSize', 'unit', 'count']) {
      expect(ctrl.isShown(name)).toBe(true);
    }
    expect(ctrl.objectSizes.map((each) => each.value)).toEqual(['', '1M']);
    ctrl.reset();
    scope.$apply();
    expect(ctrl.isShown('count')).toBe(false);
    expect(validity).toBe(true);
  });

  it('names features that another type does not allow', () => {
    const {ctrl, scope} = step();
    answers[TYPES].strict = JSON.parse(JSON.stringify(OFFERS.rbd));
    for (const key of ['features', 'object_map']) {
      answers[TYPES].strict.options[`rbd:${key}`].settable = false;
    }
    Object.assign(ctrl.chosen, {features: true, map: 'true'});
    volume.volume_type = 'strict';
    scope.$apply();
    expect(ctrl.problem).toContain('type: Image features. Select');
    ctrl.chosen.features = false;
    scope.$apply();
    expect(ctrl.problem).toContain('type: Object map. Select');
  });

  it('says what a stripe count is', () => {
    const {ctrl, scope} = step();
    for (const count of [0, -1, 1.5]) {
      ctrl.chosen.count = count;
      scope.$apply();
      expect(ctrl.problem)
        .toBe('The stripe count must be a whole number from 1 to 64.');
      expect(validity).toBe(false);
    }
    ctrl.chosen.count = null;
    scope.$apply();
    expect(validity).toBe(true);
    // A text that is not a number has no value.
    scope.rbdVolumeOptionsForm.rbdStripeCount = {$invalid: true};
    scope.$apply();
    expect(ctrl.problem).toContain('must be a whole number');
  });

  it('has the options of a type with any name', () => {
    for (const name of ['hasOwnProperty', 'constructor', '__proto__']) {
      volume.volume_type = name;
      const types = answers[TYPES] = JSON.parse(JSON.stringify(OFFERS));
      expect(step().ctrl.reason)
        .toBe('Cinder did not return the options of this volume type');
      Object.defineProperty(types, name, {value: types.rbd, enumerable: true});
      const {ctrl} = step();
      expect(ctrl.reason).toBe('');
      expect(ctrl.isSettable('objectSize')).toBe(true);
    }
  });

  it('distinguishes no type and a type that is not in the response', () => {
    volume.volume_type = '';
    expect(step().ctrl.reason).toBe('no volume type is selected');
    volume.volume_type = 'new';
    expect(step().ctrl.reason)
      .toBe('Cinder did not return the options of this volume type');
  });

  it('does not drop a selection where Cinder no longer tells', () => {
    const {ctrl, scope} = step();
    ctrl.chosen.objectSize = '1M';
    volume.volume_type = 'other';
    answers = {};
    scope.$apply();
    expect(ctrl.isUnavailable).toBe(true);
    expect(validity).toBe(false);
  });

  it('shows why Cinder refused', () => {
    const found = injector();
    const create = found.get(CINDER).createVolume;
    expect(create({metadata: {mine: 'x'}})).toBe('stock');
    let why = null;
    create({metadata: {'rbd:object_size': '1M'}})
      .catch((error) => { why = error.data; });
    found.get('$rootScope').$apply();
    expect(why).toContain('refused: why');
    expect(posted.length).toBe(1);
  });
});
