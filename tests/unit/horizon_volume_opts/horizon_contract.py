# SPDX-License-Identifier: Apache-2.0

"""What the plug-in expects of Horizon, beside names, as a table."""

from tests.unit import contract

_OURS = 'horizon_volume_opts'
_FORMS = f'{_OURS}/volumes'
_SCRIPTS = f'{_OURS}/static/horizon_volume_opts'
_IMAGES = f'{_SCRIPTS}/images/images.module.js'
_STEP = f'{_SCRIPTS}/images/options.controller.js'
_ENABLED = f'{_OURS}/enabled/_3110_rbd_volume_options.py'
_DASHBOARD = 'openstack_dashboard'
_CORE = 'static/app/core'
_PAGES = f'{_DASHBOARD}.dashboards'
_VOLUMES = f'{_PAGES}.project.volumes'
_INSTANCES = f'{_PAGES}.project.instances'
_ADMIN = f'{_PAGES}.admin.volumes'
_DATA = ('request', 'data')
_ID = ('request', 'volume_id')

#: Fields of stock forms: the module, the form, our module and the fields.
_FIELDS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        f'{_VOLUMES}.forms',
        'CreateForm',
        'create',
        ('type', 'size', 'snapshot_source', 'volume_source', 'image_source'),
    ),
    (f'{_VOLUMES}.forms', 'AttachForm', 'attach', ('instance',)),
    (f'{_INSTANCES}.forms', 'AttachVolume', 'attach', ('volume',)),
    (f'{_VOLUMES}.forms', 'ExtendForm', 'extend', ('new_size',)),
    (
        f'{_VOLUMES}.forms',
        'RetypeForm',
        'retype',
        ('volume_type', 'migration_policy'),
    ),
    (
        f'{_PAGES}.project.backups.forms',
        'RestoreBackupForm',
        'notes',
        ('volume_id',),
    ),
    (f'{_ADMIN}.forms', 'ManageVolume', 'notes', ('metadata',)),
)

#: Methods: the module, the method, our module, parameters and calls.
_METHODS: tuple[
    tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...
] = (
    (f'{_VOLUMES}.forms', 'CreateForm.__init__', 'create', ('request',), ()),
    (
        f'{_VOLUMES}.forms',
        'CreateForm.handle',
        'group',
        _DATA,
        ('volume_create', 'api_error'),
    ),
    *(
        (f'{module}.forms', f'{form}.handle', 'group', _DATA, (called,))
        for module, form, called in (
            (_VOLUMES, 'AttachForm', 'instance_volume_attach'),
            (_INSTANCES, 'AttachVolume', 'instance_volume_attach'),
            (_VOLUMES, 'ExtendForm', 'volume_extend'),
            (_VOLUMES, 'RetypeForm', 'volume_retype'),
            (_ADMIN, 'ManageVolume', 'volume_manage'),
        )
    ),
    (
        f'{_VOLUMES}.views',
        'EditAttachmentsView.get',
        'attach',
        ('request',),
        ('construct_tables', 'render_to_response'),
    ),
    (
        f'{_VOLUMES}.views',
        'EditAttachmentsView.post',
        'attach',
        ('request',),
        ('is_valid', 'form_valid', 'get'),
    ),
    (
        'horizon.forms',
        'ModalFormView.form_valid',
        'attach',
        ('form',),
        ('handle', 'form_invalid'),
    ),
    (
        f'{_INSTANCES}.views',
        'AttachVolumeView.get_initial',
        'attach',
        (),
        ('volume_list',),
    ),
    *(
        (
            f'{each}.views',
            'DetailView.get_context_data',
            'table',
            (),
            ('VolumesTable', 'render_row_actions'),
        )
        for each in (_VOLUMES, _ADMIN)
    ),
    # The Python table of Glance images leads to the form of volumes.
    (
        f'{_PAGES}.project.images.images.tables',
        'CreateVolumeFromImage.get_link_url',
        'create',
        ('datum',),
        ('urlencode',),
    ),
    *(
        (f'{_DASHBOARD}.api.cinder', name, 'group', takes, ())
        for name, takes in {
            'cinderclient': ('request',),
            'volume_create': ('request', 'size', 'name', 'description'),
            'volume_get': _ID,
            'volume_snapshot_get': ('request', 'snapshot_id'),
            'volume_set_metadata': (*_ID, 'metadata'),
            'volume_delete_metadata': (*_ID, 'keys'),
            'volume_type_extra_get': ('request', 'type_id', 'raw'),
        }.items()
    ),
    ('horizon.tabs', 'Tab.allowed', 'details', ('request',), ()),
    ('horizon.tabs', 'Tab.get_context_data', 'details', ('request',), ()),
)

#: Settings for ``enabled`` files, templates and scripts: the package, the
#: file, our file and the texts.
_PASSAGES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        _DASHBOARD,
        'utils/settings.py',
        _ENABLED,
        tuple(
            f"'{name}'"
            for name in (
                'FEATURE',
                'ADD_INSTALLED_APPS',
                'ADD_JS_FILES',
                'ADD_SCSS_FILES',
                'ADD_ANGULAR_MODULES',
                'EXTRA_TABS',
            )
        ),
    ),
    (
        'horizon',
        'base.py',
        _ENABLED,
        ("'PANEL_DASHBOARD'", "'PANEL_GROUP'", "'PANEL'", "'ADD_PANEL'"),
    ),
    (
        _DASHBOARD,
        'enabled/_2210_admin_volume_panel_group.py',
        _ENABLED,
        ("PANEL_GROUP = 'volume'", "PANEL_GROUP_DASHBOARD = 'admin'"),
    ),
    (
        'horizon',
        'templates/horizon/common/_form_fields.html',
        f'{_FORMS}/group.py',
        ('for field in form.visible_fields',),
    ),
    (
        _DASHBOARD,
        'templates/base.html',
        f'{_OURS}/templates/horizon_volume_opts/options.html',
        ('{% block title %}', '{% block main %}'),
    ),
    (
        _DASHBOARD,
        'templates/horizon/_scripts.html',
        _IMAGES,
        ('var STATIC_URL =',),
    ),
    (
        'horizon',
        'static/horizon/js/horizon.js',
        f'{_SCRIPTS}/js',
        ('horizon.addInitFunction =',),
    ),
    (
        'horizon',
        'static/horizon/js/horizon.modals.js',
        f'{_SCRIPTS}/js',
        ('horizon.modals.addModalInitFunction =',),
    ),
    (
        'horizon',
        'static/framework/util/http/http.js',
        _IMAGES,
        ("'horizon.framework.util.http.service'",),
    ),
    (
        'horizon',
        'static/framework/widgets/wizard/wizard.html',
        _IMAGES,
        ('step.templateUrl', 'step.formName'),
    ),
    (
        'horizon',
        'static/framework/widgets/wizard/wizard.controller.js',
        _IMAGES,
        ('step.checkReadiness',),
    ),
    (
        'horizon',
        'static/framework/util/extensible/extensible.service.js',
        _IMAGES,
        ('container.append = function(item',),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/images/workflows/create-volume.service.js',
        _IMAGES,
        (
            ".module('horizon.app.core.images')",
            ".factory('horizon.app.core.images.workflows.create-volume"
            ".service'",
        ),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/images/actions/create-volume.service.js',
        _IMAGES,
        ('cinder.createVolume(stepModels.volumeForm)',),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/openstack-service-api/cinder.service.js',
        _IMAGES,
        (
            ".factory('horizon.app.core.openstack-service-api.cinder'",
            "apiService.post('/api/cinder/volumes/', newVolume)",
        ),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/images/steps/create-volume/create-volume.controller.js',
        _STEP,
        (
            '$scope.stepModels.volumeForm = ctrl.volume = {',
            'metadata: {}',
            'ctrl.volume.volume_type = ',
        ),
    ),
    (
        _DASHBOARD,
        'api/rest/cinder.py',
        _STEP,
        ("metadata=request.DATA['metadata']",),
    ),
)

CLAUSES: tuple[contract.Clause | contract.Passage, ...] = (
    *(
        contract.Clause(
            module, f'{form}.base_fields', f'{_FORMS}/{ours}.py', holds=names
        )
        for module, form, ours, names in _FIELDS
    ),
    *(
        contract.Clause(module, name, f'{_FORMS}/{ours}.py', takes, calls)
        for module, name, ours, takes, calls in _METHODS
    ),
    *(
        contract.Passage(package, file, words, ours)
        for package, file, ours, words in _PASSAGES
    ),
)
