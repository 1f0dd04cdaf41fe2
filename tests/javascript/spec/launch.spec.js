// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

const OFFERS = page.offers('wizard');
const TYPES = '/api/rbd_volume_options/types/';
const STOCK = 'horizon.dashboard.project.workflow.launch-instance';
const OURS = 'horizon.dashboard.rbd-volume-options.launch';
const STRIPED = {
  object_size: 8388608,
  stripe_unit: 65536,
  stripe_count: 8,
  features: ['layering', 'object-map', 'striping']
};

describe('The Launch Instance wizard', () => {
  let answers, asked, model, steps;

  /* Horizon's services that ours use, as far as they are used. */
  function stock(window) {
    window.angular.module(STOCK, [])
      .factory(`${STOCK}.workflow`, () => ({
        after: (id, step) => steps.push([id, step])
      }));
    window.angular.module('horizon.framework', [])
      .factory('horizon.framework.util.http.service', ['$q', ($q) => ({
        get: (url, request) => {
          asked.push([url, request && request.params]);
          return url in answers
            ? $q.resolve({
              data: url === TYPES ? page.packed(answers[url]) : answers[url]
            })
            : $q.reject({status: 503});
        }
      })])
      .value('launchInstanceModel', model);
  }

  function injector(before) {
    const window = page.load({before: before || stock});
    const names = ['ng', OURS];
    return window.angular.injector(
      before ? names : names.concat('horizon.framework'));
  }

  /* The controller of the step, when all answers are there. */
  function step() {
    const found = injector();
    const scope = found.get('$rootScope').$new();
    const ctrl = found.get('$controller')(
      'LaunchInstanceRBDLayoutController', {$scope: scope});
    scope.$apply();
    return {ctrl, scope};
  }

  // Sizes have no-break spaces.
  const values = (ctrl) => ctrl.rows.map(
    (row) => row.value.replace(/\u00a0/g, ' '));

  beforeEach(() => {
    asked = [];
    steps = [];
    answers = {
      [TYPES]: JSON.parse(JSON.stringify(OFFERS)),
      '/api/rbd_volume_options/sources/volume/v1/': {made: STRIPED},
      '/api/rbd_volume_options/sources/snapshot/s1/': {made: null},
      '/api/cinder/volumetypes/default/': {name: 'rbd'}
    };
    model = {newInstanceSpec: {
      source_type: {type: 'image'},
      source: [{id: 'i1'}],
      vol_create: true,
      vol_type: {name: 'rbd'}
    }};
  });

  it('has a step after the source', () => {
    injector().get(`${STOCK}.workflow`);
    expect(steps.length).toBe(1);
    expect(steps[0][0]).toBe('source');
    expect(steps[0][1].templateUrl)
      .toBe('/static/horizon_volume_opts/launch/layout.html');
  });

  it('has none where there is no such wizard', () => {
    expect(injector(() => null).has(`${STOCK}.workflow`)).toBe(false);
  });

  it('comes up where the wizard has another name', () => {
    const found = injector((window) => window.angular.module(STOCK, []));
    expect(found.has(`${STOCK}.workflow`)).toBe(false);
  });

  it('uses the rules of the form', () => {
    const window = page.load({before: stock});
    const found = window.angular.injector(['ng', 'horizon.framework', OURS]);
    expect(found.get(`${OURS}.layout`)).toBe(window.horizon.rbdLayout);
  });

  it('shows what a type makes', () => {
    const {ctrl} = step();
    expect(ctrl.kind).toBe('new');
    expect(ctrl.volumeType).toBe('rbd');
    expect(ctrl.summary.replace(/\u00a0/g, ' '))
      .toBe('Layout and features: 4 MiB objects, object map (default)');
    expect(values(ctrl)).toEqual([
      '4 MiB (set by the back end)',
      'same as the image',
      'Yes (set by the volume type)',
      'set by the compute host'
    ]);
  });

  it('says that an image comes before what Ceph decides', () => {
    const options = answers[TYPES].rbd.options;
    options['rbd:object_size'].default_from = 'cluster';
    for (const [key, value] of [['unit', 65536], ['count', 8]]) {
      options[`rbd:stripe_${key}`].default = value;
      options[`rbd:stripe_${key}`].default_from = 'volume_type';
    }
    expect(values(step().ctrl).slice(0, 2))
      .toEqual([
        '4 MiB, unless the image has another value',
        '64 KiB × 8 (set by the volume type)'
      ]);
  });

  it('asks for the default type where none is chosen', () => {
    model.newInstanceSpec.vol_type = null;
    expect(step().ctrl.volumeType).toBe('rbd');
    expect(asked).toContain(
      ['/api/rbd_volume_options/types/', {named: 'rbd'}]);
  });

  it('shows why a type offers nothing', () => {
    model.newInstanceSpec.vol_type = {name: 'lvm'};
    const {ctrl} = step();
    expect(ctrl.reason).toContain('no back end');
    expect(ctrl.rows).toEqual([]);
  });

  it('shows what a source volume has', () => {
    Object.assign(model.newInstanceSpec, {
      source_type: {type: 'volume'}, source: [{id: 'v1'}]
    });
    const {ctrl} = step();
    expect(ctrl.kind).toBe('source');
    expect(values(ctrl)).toEqual(['8 MiB', '64 KiB × 8', 'Yes']);
    expect(ctrl.summary).toContain('object map (same as the source)');
  });

  it('shows that a source has no striping', () => {
    answers['/api/rbd_volume_options/sources/volume/v1/'] = {made: {
      object_size: 8388608, stripe_unit: 8388608, stripe_count: 1, features: []
    }};
    Object.assign(model.newInstanceSpec, {
      source_type: {type: 'volume'}, source: [{id: 'v1'}]
    });
    expect(values(step().ctrl)).toEqual(['8 MiB', 'none', 'No']);
  });

  it('says when nobody can tell', () => {
    Object.assign(model.newInstanceSpec, {
      source_type: {type: 'volume_snapshot'}, source: [{id: 's1'}]
    });
    expect(step().ctrl.isUnavailable).toBe(true);
    answers = {};
    Object.assign(model.newInstanceSpec, {
      source_type: {type: 'image'}, source: [{id: 'i1'}]
    });
    expect(step().ctrl.isUnavailable).toBe(true);
  });

  it('asks for the types once, and again for a newer one', () => {
    const found = injector();
    const service = found.get(`${OURS}.offers`);
    const scope = found.get('$rootScope');
    function types(named) {
      let result;
      service.types(named).then((each) => {
        result = each;
      });
      scope.$apply();
      return result;
    }
    expect(Object.keys(types())).toContain('rbd');
    expect(Object.keys(types('rbd'))).toContain('rbd');
    expect(asked.length).toBe(1);
    types('new');
    expect(asked.length).toBe(2);
    expect(asked[1][1]).toEqual({named: 'new'});
    delete answers[TYPES];
    expect(types('newer')).toBe(null);
    answers[TYPES] = {newer: {}};
    expect(Object.keys(types('newer'))).toEqual(['newer']);
    expect(asked.length).toBe(4);
  });

  it('is right for any name of a type', () => {
    for (const name of ['hasOwnProperty', 'constructor', '__proto__']) {
      model.newInstanceSpec.vol_type = {name};
      const types = answers[TYPES] = JSON.parse(JSON.stringify(OFFERS));
      expect(step().ctrl.reason)
        .toBe('Cinder did not return the options of this volume type');
      Object.defineProperty(types, name, {value: types.rbd, enumerable: true});
      const {ctrl} = step();
      expect(ctrl.reason).toBe(null);
      expect(ctrl.rows.length).toBe(4);
    }
  });

  it('has nothing to show without a volume', () => {
    const {ctrl, scope} = step();
    model.newInstanceSpec.vol_create = false;
    scope.$apply();
    expect(ctrl.kind).toBe('none');
    expect(ctrl.rows).toEqual([]);
  });

  it('is worth showing where a type has options', () => {
    let shown = null;
    // Another page each time: a page asks once.
    function ask() {
      const found = injector();
      found.get(`${OURS}.offers`).isWorthShowing()
        .then((each) => { shown = each; });
      found.get('$rootScope').$apply();
      return shown;
    }
    expect(ask()).toBe(true);
    delete answers[TYPES].rbd;
    expect(ask()).toBe(false);
    answers = {[TYPES]: {}};
    expect(ask()).toBe(false);
    // The step says that the options are not available.
    answers = {};
    expect(ask()).toBe(true);
  });

  it('gives no advice where nothing can be set', () => {
    expect(step().ctrl.isSettable).toBe(true);
    const options = answers[TYPES].rbd.options;
    Object.keys(options).forEach((key) => {
      options[key].settable = false;
    });
    expect(step().ctrl.isSettable).toBe(false);
  });
});
