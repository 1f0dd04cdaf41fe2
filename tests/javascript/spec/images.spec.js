// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');
const volumeForm = require('./volume-form');

const OFFERS = volumeForm.OFFERS;
const APP = 'horizon.app.core';
const WORKFLOW = `${APP}.images.workflows.create-volume.service`;
const CINDER = `${APP}.openstack-service-api.cinder`;
const OURS = 'horizon.dashboard.rbd-volume-options.images';
const FORM = '/api/rbd_volume_options/form/';
const TYPES = '/api/rbd_volume_options/types/';

describe('Create Volume of a Glance image', () => {
  let answers, asked, posted, steps, typesAnswer, validity, volume;

  /* Horizon's services that ours use, as far as they are used. */
  function stock(window) {
    window.angular.module(`${APP}.images`, [])
      .factory(WORKFLOW, () => ({append: (step) => steps.push(step)}));
    window.angular.module(APP, [`${APP}.images`])
      .factory(CINDER, () => ({createVolume: () => 'stock'}));
    window.angular.module('horizon.framework', [])
      .factory('horizon.framework.util.http.service', ['$q', ($q) => ({
        get: (url) => {
          asked.push(url);
          if (url === TYPES && typesAnswer) {
            return typesAnswer.promise;
          }
          return answers && url === FORM
            ? $q.resolve({data: volumeForm.group(answers)})
            : $q.reject({status: 503});
        },
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

  /* The step, and what a user does with it. */
  function step() {
    const window = page.load({before: stock});
    const found = window.angular.injector(
      ['ng', APP, 'horizon.framework', OURS]);
    const scope = found.get('$rootScope').$new();
    scope.stepModels = {volumeForm: volume};
    scope.rbdVolumeOptionsForm = {
      $setValidity: (_, valid) => { validity = valid; }
    };
    const ctrl = found.get('$controller')(
      'ImageRBDOptionsController', {$scope: scope});
    const $ = window.jQuery;
    const $place = $('<div>').appendTo(window.document.body);
    ctrl.show($place);
    scope.$apply();
    return {
      ctrl, scope,
      $: (selector) => $place.find(selector),
      fill: (name, value) => $place.find(`[name="${name}"]`)
        .val(value).trigger('change'),
      errors: () => $place.find('[role="alert"]:not([hidden])').text()
    };
  }

  beforeEach(() => {
    answers = JSON.parse(JSON.stringify(OFFERS));
    asked = [];
    posted = [];
    steps = [];
    typesAnswer = null;
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

  it('makes Horizon ask Cinder once, though two requests need it', () => {
    const found = injector();
    const $rootScope = found.get('$rootScope');
    found.get(WORKFLOW);
    typesAnswer = found.get('$q').defer();
    // The wizard asks whether a step is ready while it loads its content.
    steps[0].checkReadiness();
    const scope = Object.assign(
      $rootScope.$new(), {stepModels: {volumeForm: volume}});
    found.get('$controller')('ImageRBDOptionsController', {$scope: scope})
      .show(page.load().jQuery('<div>'));
    $rootScope.$apply();
    volume.volume_type = 'lvm';
    $rootScope.$apply();
    expect(asked).toEqual([TYPES]);
    typesAnswer.resolve({data: page.packed(answers)});
    $rootScope.$apply();
    expect(asked).toEqual([TYPES, FORM, FORM]);
  });

  it('sends nothing that is not selected', () => {
    const {$} = step();
    expect($('[data-rbd-preview]').text().replace(/\u00a0/g, ' '))
      .toBe('8 GiB = 2,048 objects of 4 MiB, with object map');
    expect(volume.metadata).toEqual({mine: 'kept'});
    expect(validity).toBe(true);
  });

  it('sends what is selected', () => {
    const {fill} = step();
    fill('rbd_object_size', '1M');
    fill('rbd_stripe_unit', '64K');
    fill('rbd_object_map', 'false');
    expect(volume.metadata).toEqual({
      'mine': 'kept',
      'rbd:object_size': '1M',
      'rbd:stripe_unit': '64K',
      'rbd:stripe_count': '8',
      'rbd:object_map': 'false'
    });
    fill('rbd_object_size', '');
    expect('rbd:object_size' in volume.metadata).toBe(false);
  });

  it('sends a set of features', () => {
    const {$, fill} = step();
    fill('rbd_object_map', 'true');
    $('[name="rbd_choose_features"]').get(0).click();
    $('[value="object-map"]').get(0).click();
    expect(volume.metadata).toEqual({
      'mine': 'kept', 'rbd:features': 'exclusive-lock,layering'
    });
  });

  it('does not let an invalid layout pass', () => {
    const {errors, fill} = step();
    fill('rbd_stripe_count', '4');
    expect(errors())
      .toBe('Stripe unit and stripe count must be set together.');
    expect(validity).toBe(false);
  });

  it('follows the size', () => {
    const {errors, fill, scope} = step();
    fill('rbd_stripe_unit', '64K');
    fill('rbd_stripe_count', '16384');
    expect(validity).toBe(false);
    fill('rbd_stripe_count', '3');
    expect(errors()).toContain('is not a multiple of');
    volume.size = 9;
    scope.$apply();
    expect(validity).toBe(true);
  });

  it('does not drop a selection with another type', () => {
    const {ctrl, errors, fill, scope} = step();
    const use = (type) => {
      volume.volume_type = type;
      scope.$apply();
    };
    use('lvm');
    expect(ctrl.isEmpty).toBe(true);
    expect(validity).toBe(true);
    use('rbd');
    expect(ctrl.isEmpty).toBe(false);
    fill('rbd_object_size', '1M');
    use('lvm');
    expect(validity).toBe(false);
    expect(errors()).toContain('Select the default, or another volume type.');
    // A type that is newer than the response.
    answers.lvm2 = OFFERS.rbd;
    use('lvm2');
    expect(volume.metadata['rbd:object_size']).toBe('1M');
    expect(validity).toBe(true);
    use('lvm3');
    expect(validity).toBe(false);
    use('rbd');
    expect(volume.metadata['rbd:object_size']).toBe('1M');
    expect(validity).toBe(true);
  });

  it('says that Cinder does not respond', () => {
    answers = null;
    expect(step().ctrl.isUnavailable).toBe(true);
    expect(validity).toBe(null);
  });

  it('repeats a look-up that failed', () => {
    const there = answers;
    answers = null;
    const {ctrl, scope} = step();
    expect(ctrl.isUnavailable).toBe(true);
    answers = there;
    volume.size = 9;
    scope.$apply();
    expect(ctrl.isUnavailable).toBe(false);
    expect(asked.filter((url) => url === FORM).length).toBe(2);
  });

  it('loads a type with the name of a member of Object', () => {
    volume.volume_type = 'constructor';
    answers.constructor = OFFERS.rbd;
    const {$} = step();
    expect($('[name="rbd_object_size"]').length).toBe(1);
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
