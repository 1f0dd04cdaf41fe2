# SPDX-License-Identifier: Apache-2.0

"""The filter, as nova-scheduler loads and calls it."""

import types
from typing import Any

import fixtures
from nova import context
from nova import exception
from nova import objects
from nova.scheduler import filters
from nova.scheduler.client import report

from nova_rbd_cache import server_volumes
from rbd_volume_options import cache_modes
from tests.unit.nova_rbd_cache import base
from tests.unit.nova_rbd_cache import fake_placement

_NAME = 'nova_rbd_cache.scheduler_filter.RBDCacheModeFilter'
_WRITEBACK = 'CUSTOM_RBD_CACHE_WRITEBACK'


class FilterTest(base.NovaTestCase):
    """Three hosts: with the mode, without it, and without the plug-in."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.placement = fake_placement.FakePlacement(
            one={_WRITEBACK, 'CUSTOM_RBD_CACHE_NONE'},
            two={'CUSTOM_RBD_CACHE_NONE'},
            three=set(),
        )
        self.server = server_volumes.Server(None, (base.VOLUME_ID,))
        self.required = [self.requirement('writeback')]
        self.patch(report, 'report_client_singleton', lambda: self.placement)
        self.patch(server_volumes, 'find', lambda *_args: self.server)
        self.patch(
            server_volumes, 'requirements', lambda *_args: iter(self.required)
        )
        (loaded,) = filters.HostFilterHandler().get_matching_classes([_NAME])
        self.filter = loaded()

    def requirement(self, *modes: str) -> server_volumes.Requirement:
        """Return the requirement of a volume."""
        wanted = frozenset(cache_modes.CacheMode(mode) for mode in modes)
        return server_volumes.Requirement(base.VOLUME_ID, wanted, 'because')

    def passed(
        self, *hosts: str, servers: int = 1, rebuild: bool = False
    ) -> set[str]:
        """Return the hosts that pass the filter, by default of all three."""
        request = objects.RequestSpec(
            context.get_admin_context(),
            instance_uuid=base.SERVER_ID,
            num_instances=servers,
            scheduler_hints={'_nova_check_type': ['rebuild']}
            if rebuild
            else {},
        )
        states = [
            types.SimpleNamespace(uuid=name, host=f'host-{name}')
            for name in hosts or ('one', 'two', 'three')
        ]
        accepted = filters.HostFilterHandler().get_filtered_objects(
            [self.filter], states, request
        )
        return {each.uuid for each in accepted}

    def check_all_pass(self) -> None:
        """Check that no host is excluded."""
        self.assertEqual({'one', 'two', 'three'}, self.passed())

    def test_is_loaded_by_its_name(self) -> None:
        self.assertEqual('RBDCacheModeFilter', type(self.filter).__name__)

    def test_host_without_the_mode(self) -> None:
        self.assertEqual({'one'}, self.passed())

    def test_volumes_with_different_modes(self) -> None:
        self.required = [self.requirement('none')]
        self.assertEqual({'one', 'two'}, self.passed())
        self.required.append(self.requirement('writeback'))
        self.assertEqual({'one'}, self.passed())

    def test_no_volume_requires_anything(self) -> None:
        self.required = []
        self.check_all_pass()

    def test_host_that_the_server_is_on(self) -> None:
        """A server that is resized on its own host keeps its cache modes."""
        self.server = server_volumes.Server('host-three', (base.VOLUME_ID,))
        self.assertEqual({'one', 'three'}, self.passed())

    def test_no_host_left(self) -> None:
        error = self.assertRaises(
            exception.NoValidHost, self.passed, 'two', 'three'
        )
        self.assertIn(
            f'volume {base.VOLUME_ID} requests cache mode writeback',
            str(error),
        )
        self.assertNotIn('host-', str(error))
        self.assertIn(base.SERVER_ID, self.log.output)

    def test_back_end_refuses_each_host(self) -> None:
        self.required = [self.requirement()]
        error = self.assertRaises(exception.NoValidHost, self.passed)
        self.assertIn('because', str(error))

    def test_several_servers(self) -> None:
        self.assertEqual(set(), self.passed('two', servers=2))

    def test_no_host_to_begin_with(self) -> None:
        self.assertEqual([], self.filter.filter_all(iter([]), None))

    def test_rebuild_stays_on_its_host(self) -> None:
        self.assertEqual({'two'}, self.passed('two', rebuild=True))

    def test_placement_does_not_answer(self) -> None:
        self.placement.status = 500
        self.check_all_pass()
        self.assertIn('without the cache modes', self.log.output)

    def test_cinder_does_not_answer(self) -> None:
        def fail(*_args: Any) -> Any:
            raise OSError('no route')

        self.patch(server_volumes, 'requirements', fail)
        self.check_all_pass()
        self.assertIn('no route', self.log.output)
