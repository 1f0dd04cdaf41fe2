# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt
import hypothesis

from rbd_volume_options import compute_hosts
from rbd_volume_options.families import cache_modes
from tests.unit import base
from tests.unit import untrusted

CacheMode = cache_modes.CacheMode

_HOST = compute_hosts.ComputeHost(
    frozenset({CacheMode.NONE, CacheMode.WRITEBACK}),
    frozenset({'rbd:detect_zeroes'}),
    {'libvirt': '9.0.0', 'qemu': '7.2.0', 'plug_in': '1'},
    True,
    ('virtio', 'scsi'),
)


@ddt.ddt
class ComputeHostTest(base.TestCase):
    def test_item_of_a_connector_describes_the_host(self) -> None:
        connector = {'rbd_host': _HOST.item}
        self.assertEqual(_HOST, compute_hosts.host_in_connector(connector))

    @ddt.data(None, {}, {'rbd_host': None}, {'rbd_host': 'writeback'})
    def test_connector_without_the_item_is_of_a_host_without_the_plug_in(
        self, connector: Any
    ) -> None:
        self.assertIsNone(compute_hosts.host_in_connector(connector))

    @untrusted.FEWER
    @hypothesis.given(untrusted.altered(_HOST.item))
    def test_any_item_is_read(self, item: Any) -> None:
        host = compute_hosts.host_in_connector({'rbd_host': item})
        if host is not None:
            self.assertLessEqual(host.modes, frozenset(CacheMode))
            self.assertTrue(host.software.isascii())

    def test_modes_of_a_later_release_are_ignored(self) -> None:
        item = {**_HOST.item, 'modes': ['none', 'telepathic', 1]}
        host = compute_hosts.host_in_connector({'rbd_host': item})
        self.assertEqual(frozenset({CacheMode.NONE}), host and host.modes)

    @ddt.data(
        ('writeback', 'writeback'), ('directsync', 'none'), ('unsafe', 'none')
    )
    @ddt.unpack
    def test_mode_that_a_host_does_not_allow_is_none_there(
        self, requested: str, in_force: str
    ) -> None:
        self.assertIs(
            CacheMode(in_force), _HOST.in_force(CacheMode(requested))
        )

    def test_mode_none_breaks_no_promise(self) -> None:
        for mode in CacheMode:
            state = compute_hosts.compare_modes(mode.value, 'none')
            self.assertIsNot(
                compute_hosts.State.PROMISE_BROKEN, state, str(mode)
            )

    def test_weaker_modes_break_the_promise_of_stronger_ones(self) -> None:
        broken = {
            (requested.value, actual.value)
            for requested in CacheMode
            for actual in CacheMode
            if compute_hosts.compare_modes(requested.value, actual.value)
            is compute_hosts.State.PROMISE_BROKEN
        }
        self.assertEqual(
            {
                ('writethrough', 'writeback'),
                ('directsync', 'writeback'),
                ('none', 'unsafe'),
                ('writeback', 'unsafe'),
                ('writethrough', 'unsafe'),
                ('directsync', 'unsafe'),
            },
            broken,
        )

    def test_other_comparisons(self) -> None:
        state = compute_hosts.State
        for requested, in_force, expected in (
            ('writeback', 'writeback', state.AS_REQUESTED),
            ('writeback', 'none', state.DIFFERS),
            ('writeback', None, state.UNKNOWN),
            ('of a newer release', 'none', state.DIFFERS),
        ):
            self.assertIs(
                expected, compute_hosts.compare_modes(requested, in_force)
            )
