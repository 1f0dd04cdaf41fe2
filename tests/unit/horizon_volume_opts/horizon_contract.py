# SPDX-License-Identifier: Apache-2.0

"""The parts of Horizon that the plug-in depends on, as a table."""

from tests.unit import contract
from tests.unit.horizon_volume_opts import horizon_passages

_OURS = 'horizon_volume_opts'
_CREATE = f'{_OURS}/volumes/create.py'
_ATTACH = f'{_OURS}/volumes/attach.py'
_TABLE = f'{_OURS}/volumes/table.py'
_EXTEND = f'{_OURS}/volumes/extend.py'
_RETYPE = f'{_OURS}/volumes/retype.py'
_REQUESTS = f'{_OURS}/requests_to_cinder.py'
_NOTES = f'{_OURS}/volumes/notes.py'
_DETAILS = f'{_OURS}/volumes/details.py'
_SOURCE = f'{_OURS}/source.py'
_TYPE_OPTIONS = f'{_OURS}/volume_types.py'
_MODE = f'{_OURS}/volumes/change_options.py'
_PANEL = f'{_OURS}/admin_images'
_REST = f'{_OURS}/rest.py'
_CATALOGUE = f'{_OURS}/catalogue.py'
_ENABLED = f'{_OURS}/enabled/_3110_rbd_volume_options.py'
_DASHBOARD = 'openstack_dashboard'
_CINDER = f'{_DASHBOARD}.api.cinder'
_VOLUMES = f'{_DASHBOARD}.dashboards.project.volumes'
_INSTANCES = f'{_DASHBOARD}.dashboards.project.instances'
_ADMIN = f'{_DASHBOARD}.dashboards.admin.volumes'
_TYPES = f'{_DASHBOARD}.dashboards.admin.volume_types'

#: Forms, tables and tabs, and the attributes that select them.
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
        _REQUESTS,
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
    contract.Clause(
        f'{_INSTANCES}.forms',
        'AttachVolume.base_fields',
        _ATTACH,
        holds=('volume',),
    ),
    contract.Clause(
        f'{_INSTANCES}.forms',
        'AttachVolume.handle',
        _ATTACH,
        ('request', 'data'),
        ('instance_volume_attach',),
    ),
    contract.Clause(
        f'{_INSTANCES}.views', 'AttachVolumeView.form_class', _ATTACH
    ),
    contract.Clause(
        f'{_INSTANCES}.views',
        'AttachVolumeView.get_initial',
        _ATTACH,
        (),
        ('volume_list',),
    ),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'ExtendForm.base_fields',
        _EXTEND,
        holds=('new_size',),
    ),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'ExtendForm.handle',
        _EXTEND,
        ('request', 'data'),
        ('volume_extend',),
    ),
    contract.Clause(f'{_VOLUMES}.views', 'ExtendView.form_class', _EXTEND),
    contract.Clause(f'{_VOLUMES}.views', 'ExtendView.get_initial', _EXTEND),
    contract.Clause(f'{_VOLUMES}.views', 'ExtendView.get_object', _EXTEND),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'RetypeForm.base_fields',
        _RETYPE,
        holds=('volume_type', 'migration_policy'),
    ),
    contract.Clause(
        f'{_VOLUMES}.forms',
        'RetypeForm.handle',
        _RETYPE,
        ('request', 'data'),
        ('volume_retype',),
    ),
    contract.Clause(f'{_VOLUMES}.views', 'RetypeView.form_class', _RETYPE),
    contract.Clause(f'{_VOLUMES}.views', 'RetypeView.get_initial', _RETYPE),
    contract.Clause(f'{_VOLUMES}.views', 'VolumesView.table_class', _TABLE),
    contract.Clause(
        f'{_VOLUMES}.tables', 'VolumesTable.Meta.row_actions', _TABLE
    ),
    contract.Clause(f'{_VOLUMES}.urls', 'urlpatterns', _MODE),
    contract.Clause(f'{_ADMIN}.urls', 'urlpatterns', _MODE),
    contract.Clause(
        f'{_ADMIN}.tables', 'VolumesTable.Meta.row_actions', _TABLE
    ),
    *(
        contract.Clause(
            f'{each}.views',
            'DetailView.get_context_data',
            _TABLE,
            (),
            ('VolumesTable', 'render_row_actions'),
        )
        for each in (_VOLUMES, _ADMIN)
    ),
    contract.Clause(f'{_ADMIN}.views', 'VolumesView.table_class', _TABLE),
    contract.Clause(f'{_ADMIN}.tables', 'VolumesTable.Meta.columns', _TABLE),
    contract.Clause(
        f'{_TYPES}.tables', 'VolumeTypesTable.Meta.row_actions', _TYPE_OPTIONS
    ),
    contract.Clause(f'{_TYPES}.urls', 'urlpatterns', _TYPE_OPTIONS),
    contract.Clause(f'{_VOLUMES}.tabs', 'VolumeDetailTabs', _ENABLED),
    contract.Clause(
        f'{_DASHBOARD}.dashboards.admin.volumes.tabs',
        'VolumeDetailTabs',
        _ENABLED,
    ),
)

#: Forms that get a note: the panel, the view, the form and a field.
NOTED = tuple(
    clause
    for panel, view, form, field in (
        ('project.backups', 'RestoreBackupView', 'RestoreBackupForm', ''),
        ('admin.backups', 'AdminRestoreBackupView', '', ''),
        ('admin.volumes', 'ManageVolumeView', 'ManageVolume', 'metadata'),
    )
    for clause in (
        contract.Clause(
            f'{_DASHBOARD}.dashboards.{panel}.views',
            f'{view}.form_class',
            _NOTES,
        ),
        *(
            [
                contract.Clause(
                    f'{_DASHBOARD}.dashboards.{panel}.forms',
                    f'{form}.base_fields',
                    _NOTES,
                    holds=(field or 'volume_id',),
                )
            ]
            if form
            else ()
        ),
    )
)

_ID = ('request', 'volume_id')
_TYPE_ID = ('request', 'type_id')

#: Functions through which pages call Cinder.
CLIENTS = (
    *(
        contract.Clause(_CINDER, name, used_in, takes)
        for name, (takes, used_in) in {
            'cinderclient': (('request',), f'{_OURS}/discovery.py'),
            'volume_create': (
                ('request', 'size', 'name', 'description', 'volume_type'),
                _REQUESTS,
            ),
            'volume_get': (_ID, _SOURCE),
            'volume_snapshot_get': (('request', 'snapshot_id'), _SOURCE),
            'volume_set_metadata': ((*_ID, 'metadata'), _ATTACH),
            'volume_delete_metadata': ((*_ID, 'keys'), _ATTACH),
            'volume_extend': ((*_ID, 'new_size'), _REQUESTS),
            'volume_retype': (
                (*_ID, 'new_type', 'migration_policy'),
                _REQUESTS,
            ),
            'volume_manage': (('request', 'host'), _NOTES),
            'volume_type_extra_get': ((*_TYPE_ID, 'raw'), _TYPE_OPTIONS),
        }.items()
    ),
    contract.Clause('horizon.site_urls', 'urlpatterns', _CATALOGUE),
    contract.Clause(
        f'{_DASHBOARD}.context_processors',
        'get_js_catalog',
        _CATALOGUE,
        ('conf',),
    ),
    contract.Clause(f'{_DASHBOARD}.api.rest.urls', 'register', _REST),
    # The Python table of Glance images leads to the form of volumes.
    contract.Clause(
        f'{_DASHBOARD}.dashboards.project.images.images.tables',
        'CreateVolumeFromImage.get_link_url',
        _CREATE,
        ('datum',),
        ('urlencode',),
    ),
    contract.Clause(f'{_DASHBOARD}.api.rest.utils', 'ajax', _REST),
    contract.Clause(
        f'{_DASHBOARD}.api.rest.utils',
        'JSONResponse',
        _REST,
        ('data', 'status'),
    ),
)

#: Base classes and functions of the pages.
FRAMEWORK = (
    contract.Clause('horizon', 'Panel', f'{_PANEL}/panel.py'),
    contract.Clause(
        'horizon.exceptions',
        'handle',
        f'{_PANEL}/views.py',
        ('request', 'message'),
    ),
    contract.Clause(
        'horizon.messages', 'success', _TYPE_OPTIONS, ('request', 'message')
    ),
    contract.Clause(
        'horizon.messages',
        'error',
        f'{_PANEL}/views.py',
        ('request', 'message'),
    ),
    contract.Clause(
        'horizon.messages', 'warning', _REQUESTS, ('request', 'message')
    ),
    contract.Clause(
        'horizon.exceptions',
        'ServiceCatalogException',
        f'{_OURS}/discovery.py',
    ),
    contract.Clause('horizon.forms', 'CharField', _TYPE_OPTIONS),
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
        'horizon.forms', 'ModalFormView.form_invalid', _TYPE_OPTIONS, ('form',)
    ),
    contract.Clause(
        'horizon.tables',
        'Column.__init__',
        _TABLE,
        ('transform', 'verbose_name'),
    ),
    contract.Clause(
        'horizon.views', 'HorizonTemplateView', f'{_PANEL}/views.py'
    ),
    contract.Clause(
        'horizon.utils.functions',
        'get_page_size',
        f'{_PANEL}/views.py',
        ('request',),
    ),
    contract.Clause('horizon.tables', 'LinkAction', _TABLE),
    contract.Clause('horizon.forms', 'SelfHandlingForm', _MODE),
    contract.Clause('horizon.forms', 'ModalFormView', _MODE),
    contract.Clause(f'{_DASHBOARD}.policy', 'PolicyTargetMixin', _TABLE),
    contract.Clause('horizon.tabs', 'Tab.allowed', _DETAILS, ('request',)),
    contract.Clause(
        'horizon.tabs', 'Tab.get_context_data', _DETAILS, ('request',)
    ),
)

CLAUSES: tuple[contract.Clause | contract.Passage, ...] = (
    *PAGES,
    *NOTED,
    *CLIENTS,
    *FRAMEWORK,
    *horizon_passages.PASSAGES,
)
