# SPDX-License-Identifier: Apache-2.0

"""Passages in Horizon's files that the plug-in depends on."""

from tests.unit import contract

_OURS = 'horizon_volume_opts'
_ENABLED = f'{_OURS}/enabled/_3110_rbd_volume_options.py'
_SCRIPTS = f'{_OURS}/static/horizon_volume_opts'
_IMAGES = f'{_SCRIPTS}/images/images.module.js'

_DASHBOARD = 'openstack_dashboard'
_CORE = 'static/app/core'

#: Settings for ``enabled`` files, templates and scripts.
PASSAGES = (
    contract.Passage(
        _DASHBOARD,
        'utils/settings.py',
        (
            "'FEATURE'",
            "'ADD_INSTALLED_APPS'",
            "'ADD_JS_FILES'",
            "'ADD_SCSS_FILES'",
            "'ADD_ANGULAR_MODULES'",
            "'EXTRA_TABS'",
        ),
        _ENABLED,
    ),
    contract.Passage(
        'horizon',
        'base.py',
        ("'PANEL_DASHBOARD'", "'PANEL_GROUP'", "'PANEL'", "'ADD_PANEL'"),
        _ENABLED,
    ),
    contract.Passage(
        _DASHBOARD,
        'enabled/_2210_admin_volume_panel_group.py',
        ("PANEL_GROUP = 'volume'", "PANEL_GROUP_DASHBOARD = 'admin'"),
        _ENABLED,
    ),
    contract.Passage(
        'horizon',
        'templates/horizon/common/_form_fields.html',
        ('for field in form.visible_fields',),
        f'{_OURS}/volumes/group.py',
    ),
    contract.Passage(
        _DASHBOARD,
        'templates/base.html',
        ('{% block title %}', '{% block main %}'),
        f'{_OURS}/templates/horizon_volume_opts/admin_images/index.html',
    ),
    contract.Passage(
        _DASHBOARD,
        'templates/horizon/_scripts.html',
        ('var STATIC_URL =',),
        _IMAGES,
    ),
    contract.Passage(
        'horizon',
        'static/horizon/js/horizon.js',
        ('horizon.addInitFunction =',),
        f'{_SCRIPTS}/js',
    ),
    contract.Passage(
        'horizon',
        'static/horizon/js/horizon.modals.js',
        ('horizon.modals.addModalInitFunction =',),
        f'{_SCRIPTS}/js',
    ),
    contract.Passage(
        'horizon',
        'static/framework/util/http/http.js',
        ("'horizon.framework.util.http.service'",),
        _IMAGES,
    ),
    contract.Passage(
        'horizon',
        'static/framework/widgets/wizard/wizard.html',
        ('step.templateUrl', 'step.formName'),
        _IMAGES,
    ),
    contract.Passage(
        'horizon',
        'static/framework/widgets/wizard/wizard.controller.js',
        ('step.checkReadiness',),
        _IMAGES,
    ),
    contract.Passage(
        'horizon',
        'static/framework/util/extensible/extensible.service.js',
        ('container.append = function(item',),
        _IMAGES,
    ),
    contract.Passage(
        _DASHBOARD,
        f'{_CORE}/images/workflows/create-volume.service.js',
        (
            ".module('horizon.app.core.images')",
            ".factory('horizon.app.core.images.workflows.create-volume"
            ".service'",
        ),
        _IMAGES,
    ),
    contract.Passage(
        _DASHBOARD,
        f'{_CORE}/images/actions/create-volume.service.js',
        ('cinder.createVolume(stepModels.volumeForm)',),
        _IMAGES,
    ),
    contract.Passage(
        _DASHBOARD,
        f'{_CORE}/openstack-service-api/cinder.service.js',
        (
            ".factory('horizon.app.core.openstack-service-api.cinder'",
            "apiService.post('/api/cinder/volumes/', newVolume)",
        ),
        _IMAGES,
    ),
    contract.Passage(
        _DASHBOARD,
        f'{_CORE}/images/steps/create-volume/create-volume.controller.js',
        (
            '$scope.stepModels.volumeForm = ctrl.volume = {',
            'metadata: {}',
            'ctrl.volume.volume_type = ',
        ),
        f'{_SCRIPTS}/images/options.controller.js',
    ),
    contract.Passage(
        _DASHBOARD,
        'api/rest/cinder.py',
        ("metadata=request.DATA['metadata']",),
        f'{_SCRIPTS}/images/options.controller.js',
    ),
)
