# SPDX-License-Identifier: Apache-2.0

"""Test the parts of Cinder that the driver and the API rely on."""

import cinder  # noqa: F401 - first of all: it decides about eventlet
from cinder.volume.drivers import rbd as stock

from cinder_rbd_ext import driver
from tests import runs
from tests.unit import base
from tests.unit import contract

_RBD = 'cinder.volume.drivers.rbd'
_MAKING = 'cinder_rbd_ext/imaging/maker.py'
_DRIVER = 'cinder_rbd_ext/driver.py'
_LOOKUP = 'cinder_rbd_ext/imaging/lookup.py'
_ATTACHING = 'cinder_rbd_ext/attach/connection.py'
_RECORD = 'cinder_rbd_ext/record.py'
_DELETING = 'cinder_rbd_ext/lifecycle/deletion.py'
_SHARING = 'cinder_rbd_ext/cluster/connections.py'
_REPEATING = 'cinder_rbd_ext/cluster/blocklisting.py'
_RESTORING = 'cinder_rbd_ext/lifecycle/restore.py'
_WATCHERS = 'cinder_rbd_ext/imaging/open_image.py'
_API = 'cinder_rbd_ext/api'
_IMAGE = ('volume', 'image_service', 'image_id', 'disable_sparse')

_USE = 'cinder_rbd_ext/volume_use.py'

#: Methods of the stock driver that ours overrides or calls.
METHODS = {
    'create_snapshot': (('snapshot',), ('RBDVolumeProxy',), _USE),
    'copy_volume_to_image': (('context', 'volume'), (), _USE),
    'manage_existing_snapshot': (('snapshot', 'existing_ref'), (), _USE),
    'unmanage_snapshot': (('snapshot',), ('RBDVolumeProxy',), _USE),
    'unmanage': (('volume',), (), _DRIVER),
    '_do_flatten': (('volume_name', 'pool'), ('RBDVolumeProxy',), _USE),
    '__init__': ((), (), _MAKING),
    'get_driver_options': ((), (), _DRIVER),
    'check_for_setup_error': ((), (), _DRIVER),
    'create_volume': (
        ('volume',),
        ('_create_encrypted_volume', 'RBDProxy', 'create', '_setup_volume'),
        _MAKING,
    ),
    '_create_encrypted_volume': (
        ('volume', 'context'),
        ('_execute',),
        'rbd_volume_options/image_arguments.py',
    ),
    'create_volume_from_snapshot': (
        ('volume', 'snapshot'),
        ('_clone',),
        _MAKING,
    ),
    '_clone': (
        ('volume', 'src_pool', 'src_image', 'src_snap'),
        ('_get_stripe_unit', 'RBDProxy', 'clone', '_setup_volume'),
        'cinder_rbd_ext/imaging/librbd.py',
    ),
    '_get_stripe_unit': (('ioctx', 'volume_name'), (), _DRIVER),
    'create_cloned_volume': (
        ('volume', 'src_vref'),
        ('copy', 'create_snap', 'clone', '_setup_volume'),
        _MAKING,
    ),
    'clone_image': (
        ('context', 'volume', 'image_location', 'image_meta'),
        ('_clone',),
        _MAKING,
    ),
    'copy_image_to_volume': (
        ('context', *_IMAGE),
        ('_copy_image_to_volume',),
        _MAKING,
    ),
    'copy_image_to_encrypted_volume': (
        ('context', *_IMAGE),
        ('_copy_image_to_volume',),
        _MAKING,
    ),
    '_copy_image_to_volume': (
        ('context', *_IMAGE[:-1], 'encrypted', _IMAGE[-1]),
        ('delete_volume', '_try_execute', '_resize', '_setup_volume'),
        'rbd_volume_options/image_arguments.py',
    ),
    'migrate_volume': (('context', 'volume', 'host'), ('copy',), _MAKING),
    '_setup_volume': (
        ('volume', 'volume_type'),
        ('update_rbd_image_qos',),
        _MAKING,
    ),
    'update_rbd_image_qos': (('volume', 'qos_specs'), (), _DRIVER),
    'delete_rbd_image_qos_keys': (('volume', 'qos_keys'), (), _DRIVER),
    '_disable_multiattach': (('volume',), (), _DRIVER),
    'initialize_connection': (('volume', 'connector'), (), _ATTACHING),
    '_attach_volume': (
        ('context', 'volume', 'properties', 'remote'),
        (),
        _ATTACHING,
    ),
    '_get_rbd_handle': (('volume',), ('initialize_connection',), _ATTACHING),
    'remove_export': (('context', 'volume'), (), _ATTACHING),
    'terminate_connection': (('volume', 'connector'), (), _RESTORING),
    'delete_volume': (('volume',), ('_delete_volume',), _DELETING),
    '_delete_volume': (('volume', 'client'), (), _DELETING),
    '_delete_backup_snaps': (('rbd_image',), (), _DELETING),
    '_start_periodic_tasks': ((), (), _DELETING),
    '_trash_purge': ((), (), _DELETING),
    'extend_volume': (('volume', 'new_size'), (), _DRIVER),
    'retype': (('context', 'volume', 'new_type', 'diff', 'host'), (), _DRIVER),
    'manage_existing': (('volume', 'existing_ref'), ('rename',), _DRIVER),
    # The image is open then.
    'get_manageable_volumes': (
        (),
        ('RBDVolumeProxy', '_get_image_status'),
        _WATCHERS,
    ),
    '_get_image_status': (('image_name',), ('_execute',), _WATCHERS),
    'update_migrated_volume': (
        ('ctxt', 'volume', 'new_volume', 'original_volume_status'),
        (),
        _DRIVER,
    ),
    'delete_snapshot': (('snapshot',), (), _REPEATING),
    'clean_volume_file_locks': (('volume_id',), (), _DRIVER),
    '_connect_to_rados': (('pool', 'remote', 'timeout'), (), _SHARING),
    '_disconnect_from_rados': (('client', 'ioctx'), (), _SHARING),
    '_get_config_tuple': (('remote',), (), _SHARING),
    '_get_mon_addrs': ((), (), _SHARING),
    '_flatten': (('pool', 'volume_name'), (), _DRIVER),
    '_flatten_volume': (('image_name', 'client'), (), _DRIVER),
    'revert_to_snapshot': (
        ('context', 'volume', 'snapshot'),
        ('rollback_to_snap',),
        _DRIVER,
    ),
    '_update_volume_stats': (
        (),
        ('_get_pool_stats', '_get_usage_info'),
        _DRIVER,
    ),
    '_get_usage_info': (
        (),
        ('RBDProxy', 'list'),
        'cinder_rbd_ext/cluster/capacity.py',
    ),
    '_get_pool_stats': ((), (), _DRIVER),
    'RBDProxy': ((), ('RBD',), _DRIVER),
}

#: Methods of Cinder's base class of all drivers.
_BASE_METHODS = {
    'before_volume_copy': ('context', 'src_vol', 'dest_vol', 'remote'),
    'after_volume_copy': ('context', 'src_vol', 'dest_vol', 'remote'),
    '_create_temp_volume_from_snapshot': ('context', 'volume', 'snapshot'),
    'accept_transfer': ('context', 'volume', 'new_user', 'new_project'),
}

CLAUSES = (
    *(
        contract.Clause(_RBD, f'RBDDriver.{name}', used_in, takes, calls)
        for name, (takes, calls, used_in) in METHODS.items()
    ),
    *(
        contract.Clause(
            'cinder.volume.driver',
            f'BaseVD.{name}',
            _DRIVER,
            takes,
        )
        for name, takes in _BASE_METHODS.items()
    ),
    # The driver checks the volume in the first, before the second.
    contract.Clause(
        'cinder.volume.manager',
        'VolumeManager._revert_to_snapshot_generic',
        _DRIVER,
        ('ctxt', 'volume', 'snapshot'),
        ('_create_temp_volume_from_snapshot', '_copy_volume_data'),
    ),
    contract.Clause(
        _RBD,
        'RBDVolumeProxy',
        _LOOKUP,
        ('driver', 'name', 'pool', 'snapshot', 'read_only'),
    ),
    contract.Clause(_RBD, 'RADOSClient', _LOOKUP, ('driver', 'pool')),
    contract.Clause(
        'cinder.db.api',
        'conditional_update',
        _RECORD,
        ('context', 'model', 'values', 'expected_values'),
    ),
    # Metadata is restored in between; our driver acts before and after.
    contract.Clause(
        'cinder.backup.manager',
        'BackupManager._run_restore',
        _RESTORING,
        ('context', 'backup', 'volume'),
        ('_attach_device', 'restore', '_detach_device'),
    ),
    contract.Clause(
        'cinder.backup.manager',
        'BackupManager._detach_device',
        _RESTORING,
        (),
        ('terminate_connection',),
    ),
    contract.Clause(
        'cinder.scheduler.rpcapi',
        'SchedulerAPI.get_pools',
        f'{_API}/pools.py',
        ('ctxt',),
    ),
    contract.Clause(
        'cinder.volume.volume_types', 'get_all_types', f'{_API}/options.py'
    ),
    contract.Clause(
        'cinder.objects.volume_type',
        'VolumeType.get_by_name_or_id',
        f'{_API}/volumes.py',
        ('context', 'identity'),
    ),
    contract.Clause(
        'cinder.api.openstack.wsgi', 'extends', f'{_API}/volumes.py'
    ),
    contract.Clause(
        'cinder.api.extensions',
        'ExtensionManager.get_controller_extensions',
        f'{_API}/extension.py',
        (),
    ),
    contract.Clause(
        'cinder.api.extensions',
        'ResourceExtension',
        f'{_API}/extension.py',
        ('collection', 'controller'),
    ),
    contract.Clause(
        'cinder.policies.base',
        'SYSTEM_READER_OR_PROJECT_READER',
        'cinder_rbd_ext/policies.py',
    ),
)


@runs.tags(runs.RELEASES)
class ContractTest(base.TestCase):
    def test_installed_cinder_keeps_the_contract(self) -> None:
        self.assertEqual([], contract.problems('cinder', CLAUSES))

    def test_each_overridden_method_is_in_it(self) -> None:
        overridden = {
            name
            for cls in driver.RBDExtDriver.__mro__
            if cls.__module__.startswith('cinder_rbd_ext.')
            for name, member in vars(cls).items()
            if callable(getattr(member, '__func__', member))
            and hasattr(stock.RBDDriver, name)
            and not (name.startswith('__') and name != '__init__')
        }
        self.assertEqual(set(_BASE_METHODS), overridden - set(METHODS))
