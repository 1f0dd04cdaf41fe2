# SPDX-License-Identifier: Apache-2.0

"""The parts of glance_store that the store depends on."""

from tests import runs
from tests.unit import base
from tests.unit import contract

_RBD = 'glance_store._drivers.rbd'
_STORE = 'glance_store_objmap/store.py'
_HASHING = 'glance_store_objmap/hashing.py'

CLAUSES = (
    contract.Clause(_RBD, '_RBD_OPTS', _STORE),
    contract.Clause(_RBD, 'DEFAULT_SNAPNAME', _STORE),
    contract.Clause(_RBD, 'Store.get_schemes', _STORE, ()),
    contract.Clause(
        _RBD, 'Store.configure_add', _STORE, (), ('_set_url_prefix',)
    ),
    contract.Clause(
        _RBD, 'Store._set_url_prefix', _STORE, (), ('get_connection',)
    ),
    contract.Clause(
        _RBD, 'Store.get_connection', _STORE, ('conffile', 'rados_id')
    ),
    contract.Clause(
        _RBD,
        'Store._create_image',
        _STORE,
        ('fsid', 'conn', 'ioctx', 'image_name', 'size', 'order', 'context'),
        ('conf_get', 'create'),
    ),
    contract.Clause(
        _RBD,
        'Store._delete_image',
        _STORE,
        ('target_pool', 'image_name', 'snapshot_name'),
        ('remove',),
    ),
    contract.Clause(
        _RBD,
        'Store.add',
        _STORE,
        ('image_id', 'image_file', 'image_size', 'hashing_algo', 'context'),
        ('_create_image', 'create_snap', 'protect_snap'),
    ),
    contract.Clause(
        _RBD, 'Store.get', _STORE, ('location', 'offset', 'chunk_size')
    ),
    contract.Clause(_RBD, 'Store.get_size', _STORE, ('location',)),
    contract.Clause(_RBD, 'StoreLocation', _STORE, ('store_specs', 'conf')),
    contract.Clause(
        'glance_store.common.utils',
        'get_hasher',
        _HASHING,
        ('hash_algo', 'usedforsecurity'),
    ),
    contract.Clause('glance_store.driver', 'back_compat_add', _STORE),
    contract.Clause('glance_store.capabilities', 'check', _STORE),
    contract.Clause(
        'glance_store.capabilities', 'BitMasks.DRIVER_REUSABLE', _STORE
    ),
)


@runs.tags(runs.RELEASES)
class ContractTest(base.TestCase):
    def test_installed_glance_store_keeps_the_contract(self) -> None:
        self.assertEqual([], contract.problems('glance_store', CLAUSES))
