# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The parts of Horizon that the plug-in depends on, as a table."""

import importlib.metadata

from tests.unit import contract

_OURS = 'horizon_volume_opts'
_CREATE = f'{_OURS}/volumes/create.py'
_CREATION = f'{_OURS}/volumes/creation.py'
_ATTACH = f'{_OURS}/volumes/attach.py'
_TABLE = f'{_OURS}/volumes/table.py'
_DETAILS = f'{_OURS}/volumes/details.py'
_SOURCE = f'{_OURS}/volumes/source.py'
_SPECS = f'{_OURS}/type_specs/forms.py'
_SPECS_HOOK = f'{_OURS}/type_specs/hook.py'
_PANEL = f'{_OURS}/admin_images'
_REST = f'{_OURS}/rest.py'
_ENABLED = f'{_OURS}/enabled/_3110_rbd_volume_options.py'
_SCRIPTS = f'{_OURS}/static/horizon_volume_opts'
_LAUNCH = f'{_SCRIPTS}/launch/launch.module.js'

_DASHBOARD = 'openstack_dashboard'
_CINDER = f'{_DASHBOARD}.api.cinder'
_VOLUMES = f'{_DASHBOARD}.dashboards.project.volumes'
_EXTRAS = f'{_DASHBOARD}.dashboards.admin.volume_types.extras'
_WIZARD = 'dashboards/project/static/dashboard/project/workflow'

_VERSION = importlib.metadata.version('horizon')
#: The wizard's choice of a volume type, which 25.3 (2025.1) hasn't got.
_VOLUME_TYPE = () if _VERSION.startswith('25.3.') else ('vol_type: {}',)

#: Forms, tables and tabs, and where stock says which are used.
PAGES = (
    contract.Clause(
        f'{_VOLUMES}.forms', 'CreateForm.__init__', _CREATE, ('request',)
    ),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'CreateForm.base_fields',
        _CREATE,
        holds=('type', 'size', 'snapshot_source', 'volume_source'),
    ),
    contract.Clause(f'{_VOLUMES}.forms', 'CreateForm.clean', _CREATE, ()),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'CreateForm.handle',
        _CREATION,
        ('request', 'data'),
        ('volume_create', 'api_error'),
    ),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'AttachForm.base_fields',
        _ATTACH,
        holds=('instance',),
    ),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'AttachForm.handle',
        _ATTACH,
        ('request', 'data'),
        ('instance_volume_attach',),
    ),
    contract.Clause(f'{_VOLUMES}.views', 'CreateView.form_class', _CREATE),
    contract.Clause(
        f'{_VOLUMES}.views', 'EditAttachmentsView.form_class', _ATTACH
    ),
    contract.Clause(
        f'{_VOLUMES}.views', 'EditAttachmentsView.form_invalid', _ATTACH
    ),
    contract.Clause(
        f'{_VOLUMES}.views',
        'EditAttachmentsView.get',
        _ATTACH,
        ('request',),
        ('construct_tables', 'render_to_response'),
    ),
    contract.Clause(
        f'{_VOLUMES}.views',
        'EditAttachmentsView.post',
        _ATTACH,
        ('request',),
        ('is_valid', 'form_valid', 'get'),
    ),
    contract.Clause(f'{_VOLUMES}.views', 'VolumesView.table_class', _TABLE),
    contract.Clause(f'{_VOLUMES}.tables', 'VolumesTable.Meta', _TABLE),
    contract.Clause(f'{_VOLUMES}.tabs', 'VolumeDetailTabs', _ENABLED),
    contract.Clause(
        f'{_DASHBOARD}.dashboards.admin.volumes.tabs',
        'VolumeDetailTabs',
        _ENABLED,
    ),
    contract.Clause(f'{_EXTRAS}.views', 'CreateView.form_class', _SPECS_HOOK),
    contract.Clause(f'{_EXTRAS}.views', 'EditView.form_class', _SPECS_HOOK),
    contract.Clause(f'{_EXTRAS}.views', 'EditView.form_invalid', _SPECS_HOOK),
    contract.Clause(
        f'{_EXTRAS}.forms',
        'CreateExtraSpec.base_fields',
        _SPECS,
        holds=('key', 'value'),
    ),
    contract.Clause(
        f'{_EXTRAS}.forms',
        'CreateExtraSpec.handle',
        _SPECS,
        ('request', 'data'),
    ),
    contract.Clause(
        f'{_EXTRAS}.forms',
        'EditExtraSpec.base_fields',
        _SPECS,
        holds=('value',),
    ),
    contract.Clause(
        f'{_EXTRAS}.forms', 'EditExtraSpec.handle', _SPECS, ('request', 'data')
    ),
)

_ID = ('request', 'volume_id')
_TYPE_ID = ('request', 'type_id')

#: What pages ask Cinder through.
CLIENTS = (
    *(
        contract.Clause(_CINDER, name, used_in, takes)
        for name, (takes, used_in) in {
            'cinderclient': (('request',), f'{_OURS}/discovery.py'),
            'volume_create': (
                ('request', 'size', 'name', 'description', 'volume_type'),
                _CREATION,
            ),
            'volume_get': (_ID, _SOURCE),
            'volume_snapshot_get': (('request', 'snapshot_id'), _SOURCE),
            'volume_set_metadata': ((*_ID, 'metadata'), _ATTACH),
            'volume_delete_metadata': ((*_ID, 'keys'), _ATTACH),
            'volume_type_extra_get': ((*_TYPE_ID, 'raw'), _SPECS),
            'volume_type_extra_set': ((*_TYPE_ID, 'metadata'), _SPECS),
        }.items()
    ),
    contract.Clause(f'{_DASHBOARD}.api.rest.urls', 'register', _REST),
    contract.Clause(f'{_DASHBOARD}.api.rest.utils', 'ajax', _REST),
    contract.Clause(
        f'{_DASHBOARD}.api.rest.utils',
        'JSONResponse',
        _REST,
        ('data', 'status'),
    ),
)

#: What pages are made from.
FRAMEWORK = (
    contract.Clause('horizon', 'Panel', f'{_PANEL}/panel.py'),
    contract.Clause(
        'horizon.exceptions',
        'handle',
        f'{_PANEL}/views.py',
        ('request', 'message'),
    ),
    contract.Clause(
        'horizon.messages', 'success', _SPECS, ('request', 'message')
    ),
    contract.Clause('horizon.forms', 'CharField', _SPECS),
    contract.Clause(
        'horizon.forms', 'SelfHandlingForm.api_error', _CREATE, ('message',)
    ),
    contract.Clause(
        'horizon.forms', 'SelfHandlingForm.set_warning', _CREATE, ('message',)
    ),
    contract.Clause(
        'horizon.forms',
        'ModalFormView.form_valid',
        _ATTACH,
        ('form',),
        ('handle', 'form_invalid'),
    ),
    contract.Clause(
        'horizon.forms', 'ModalFormView.form_invalid', _SPECS_HOOK, ('form',)
    ),
    contract.Clause(
        'horizon.tables',
        'Column.__init__',
        _TABLE,
        ('transform', 'verbose_name'),
    ),
    contract.Clause(
        'horizon.tables',
        'DataTable.get_object_id',
        f'{_PANEL}/tables.py',
        ('datum',),
    ),
    contract.Clause(
        'horizon.tables',
        'MultiTableView.get_data_methods',
        f'{_PANEL}/views.py',
        ('table_classes',),
    ),
    contract.Clause(
        'horizon.tables',
        'MultiTableView.data_method_pattern',
        f'{_PANEL}/views.py',
    ),
    contract.Clause(
        'horizon.tables',
        'MultiTableView.post',
        f'{_PANEL}/views.py',
        ('request',),
    ),
    contract.Clause('horizon.tabs', 'Tab.allowed', _DETAILS, ('request',)),
    contract.Clause(
        'horizon.tabs', 'Tab.get_context_data', _DETAILS, ('request',)
    ),
)

#: Settings of files in ``enabled``, templates and scripts.
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
        _LAUNCH,
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
        _LAUNCH,
    ),
    contract.Passage(
        _DASHBOARD,
        'api/rest/cinder.py',
        (
            "url_regex = r'cinder/volumetypes/(?P<volumetype_id>[^/]+)/$'",
            "volumetype_id == 'default'",
        ),
        _LAUNCH,
    ),
    contract.Passage(
        'horizon',
        'static/framework/util/extensible/extensible.service.js',
        ('container.after = function(id, item',),
        _LAUNCH,
    ),
    contract.Passage(
        'horizon',
        'static/framework/widgets/wizard/wizard.html',
        ('step.templateUrl', 'step.formName', 'step.helpUrl'),
        _LAUNCH,
    ),
    contract.Passage(
        'horizon',
        'static/framework/widgets/wizard/wizard.controller.js',
        ('step.checkReadiness',),
        _LAUNCH,
    ),
    contract.Passage(
        _DASHBOARD,
        f'{_WIZARD}/launch-instance/launch-instance-workflow.service.js',
        (
            ".module('horizon.dashboard.project.workflow.launch-instance')",
            '.factory('
            "'horizon.dashboard.project.workflow.launch-instance.workflow'",
            "id: 'source'",
        ),
        _LAUNCH,
    ),
    contract.Passage(
        _DASHBOARD,
        f'{_WIZARD}/launch-instance/launch-instance-model.service.js',
        (
            ".factory('launchInstanceModel'",
            'newInstanceSpec',
            'source_type: null',
            'source: []',
            'vol_create: ',
            *_VOLUME_TYPE,
        ),
        f'{_SCRIPTS}/launch/layout.controller.js',
    ),
)

CLAUSES: tuple[contract.Clause | contract.Passage, ...] = (
    *PAGES,
    *CLIENTS,
    *FRAMEWORK,
    *PASSAGES,
)
