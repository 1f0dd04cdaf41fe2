# SPDX-License-Identifier: Apache-2.0

"""Cinder's test suites for its RBD driver, run with our class."""

import contextlib
from typing import Any
import unittest
from unittest import mock

import cinder  # noqa: F401 - first of all: it decides about eventlet
from cinder.interface import volume_driver
from cinder.volume.drivers import rbd as stock
import fixtures

from cinder_rbd_ext import driver
from cinder_rbd_ext import locks
from cinder_rbd_ext import record
from cinder_rbd_ext import releases
from cinder_rbd_ext import volume_use
from rbd_volume_options import backend_settings
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from tests.unit import base
from tests.unit import stock_suites

_REPORTS = 'ours reports its capabilities besides the stock ones'
_TYPE = 'the new type is a tuple there; ours reads its extra specs'
_LOCKED = 'the volume is not in the database; ours reads it in its lock'
_CONTEXT = 'the context is a module there; ours needs the ID of the request'
_REBUILDS = (
    'the volume is a mock there; ours reads what the type took, as JSON'
)
_RECORD = 'the volume of the snapshot is a mock there; ours reads its record'
_NAME_BACK = 'ours gives the image its name back'
_SUMMED_UP = 'librbd sums the sizes up for ours, which opens no image'
_ENDS = 'ours decides itself how the image of a deleted volume ends'
_PURGES = 'ours purges only images with its mark, in its own thread'

# Tests that only some releases have.
_SINCE = {'test_manage_existing_invalid_type': range(27, 1000)}

#: Tests that cannot pass, and the reasons.
IMPOSSIBLE = [
    stock_suites.Impossible(
        f'RBDTestCase.{name}', reason, _SINCE.get(name, range(1000))
    )
    for name, reason in {
        'test_update_volume_stats_1_True': _REPORTS,
        'test_update_volume_stats_2_False': _REPORTS,
        'test_update_volume_stats_error': _REPORTS,
        'test_update_volume_stats_exclusive_pool': _REPORTS,
        'test__get_usage_info': _SUMMED_UP,
        'test_create_vol_from_snap': _RECORD,
        'test_retype_1_False': _LOCKED,
        'test_retype_2_True': _LOCKED,
        'test_retype_qos': _LOCKED,
        'test_retype_replicated_1': _TYPE,
        'test_retype_replicated_2': _LOCKED,
        'test_retype_replicated_4': _LOCKED,
        'test_retype_replicated_3': _TYPE,
        'test_disable_multiattach_1_93': _REBUILDS,
        'test_disable_multiattach_2_5': _REBUILDS,
        'test_manage_existing_invalid_type': _NAME_BACK,
        'test_manage_existing_with_exist_rbd_image': _NAME_BACK,
        **dict.fromkeys(
            (
                'test_deferred_deletion',
                'test_deferred_deletion_w_deleted_parent',
                'test_deferred_deletion_w_parent',
                'test_delete_busy_volume',
                'test_delete_volume',
                'test_delete_volume_clone_info_return_parent',
                'test_delete_volume_has_snapshots',
                'test_delete_volume_has_snapshots_trash',
                'test_delete_volume_not_found',
                'test_delete_volume_w_clone_snaps',
            ),
            _ENDS,
        ),
        'test_deferred_deletion_trash_purge': _PURGES,
        'test_deferred_deletion_trash_purge_not_expired': _PURGES,
        'test_deferred_deletion_periodic_task': _PURGES,
        **dict.fromkeys(
            (
                'test_migrate_volume_bad_host',
                'test_migrate_volume_bad_volume_status',
                'test_migrate_volume_different_pool',
                'test_migrate_volume_insue_different_pool',
                'test_migrate_volume_invalid_location_info',
                'test_migrate_volume_mismatch_fsid',
                'test_migrate_volume_missing_location_info',
            ),
            _CONTEXT,
        ),
    }.items()
]

_PLAIN = options.image_values(
    layout.ImageLayout(4 << 20), frozenset(features.FEATURES) & {'layering'}
)
_NOTHING_SET = backend_settings.BackendSettings(
    options.Values(), operator_limits.Limits(), 4 << 20
)


class _Timeout(Exception):
    """librbd's error after a request that was not answered in time."""


class _Driver(driver.RBDExtDriver):
    """Our driver with no options set and plain images, for the mocks."""

    settings = _NOTHING_SET

    def __setattr__(self, name: str, value: Any) -> None:
        if name == 'rbd' and isinstance(value, mock.Mock):
            # The suites' mock lacks an error that ours catches.
            value.Timeout = _Timeout
        super().__setattr__(name, value)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The suites check their mock of librbd, which our driver wraps.
        self.rbd = self.rbd._wrapped
        # The name of a mocked image is a mock, so it is never found.
        self.librbd.complete_removal = (  # type: ignore[method-assign]
            lambda ioctx, name: False
        )
        self.images.state_of = self._plain  # type: ignore[method-assign]
        self.images.read = self._plain  # type: ignore[method-assign]
        # The suites upload this one.
        mock.sentinel.volume.id = None
        mock.sentinel.volume.size = 1
        mock.sentinel.volume.project_id = 'project'
        mock.sentinel.volume.metadata = {}
        mock.sentinel.volume.admin_metadata = {}

    # The suites expect the stock order of clones, without a plan.
    _get_stripe_unit = stock.RBDDriver._get_stripe_unit

    def _plain(self, *args: Any, **kwargs: Any) -> options.Values:
        return _PLAIN


class _OurModule:
    """The stock driver's module with our class, as the suite sees it.

    The module itself keeps its class, because that class refers to itself by
    name.
    """

    RBDDriver = _Driver

    def __getattr__(self, name: str) -> Any:
        return getattr(stock, name)

    # The suite sets its mocks on the module.

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(stock, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(stock, name)


_NAME = 'cinder.tests.unit.volume.drivers.test_rbd'
(_THEIRS,) = stock_suites.load([_NAME], stock, {'RBDDriver': _Driver})


def _unlocked(driver: Any, volume: Any, *args: Any, **how: Any) -> Any:
    if not isinstance(volume, str):
        volume.admin_metadata = {}
    return contextlib.nullcontext(volume)


def _alone(driver: Any, volume: Any, *args: Any) -> Any:
    return contextlib.nullcontext(mock.Mock(volume=volume))


class _OurClass(fixtures.Fixture):
    """Replace the stock class with ours."""

    def _setUp(self) -> None:
        # A mock that the suite applies twice through our module would stay in
        # the stock module for all later tests.
        self.addCleanup(vars(stock).update, dict(vars(stock)))
        for holder, name, value in (
            (_THEIRS, 'driver', _OurModule()),
            (record, 'replace', mock.Mock(spec_set=record.replace)),
            (record, 'moved', mock.Mock(spec_set=record.moved)),
            (record, 'forget', mock.Mock(spec_set=record.forget)),
            (record, 'stored', lambda volume_id: record.Row(*[volume_id] * 2)),
            (record, 'write', mock.Mock(spec_set=record.write)),
            # The volumes of the suites are not in a database.
            (locks, 'shared', _unlocked),
            (locks, 'exclusive', _alone),
            (locks, 'image', _unlocked),
            (locks, 'name', _unlocked),
            (volume_use, 'using', _unlocked),
            (volume_use, 'alone', _unlocked),
            (
                volume_use,
                'using_snapshot',
                lambda driver, it, **how: _unlocked(driver, it.volume),
            ),
        ):
            self.useFixture(fixtures.MockPatchObject(holder, name, value))


_ADOPTED = stock_suites.Adopted(
    [_THEIRS.RBDTestCase, _THEIRS.ManagedRBDTestCase],
    _OurClass,
    IMPOSSIBLE,
    releases.RELEASE,
)


class ComplianceTest(base.TestCase):
    """The requirements of ``cinder.tests.compliance`` for volume drivers."""

    def test_core_interface(self) -> None:
        self.assertTrue(
            issubclass(driver.RBDExtDriver, volume_driver.VolumeDriverCore)
        )


def load_tests(
    loader: unittest.TestLoader, tests: Any, pattern: str | None
) -> unittest.TestSuite:
    """Load the adapted suites instead of their original modules."""
    suite = _ADOPTED.load_tests(__name__, loader)
    suite.addTests(loader.loadTestsFromTestCase(ComplianceTest))
    return suite
