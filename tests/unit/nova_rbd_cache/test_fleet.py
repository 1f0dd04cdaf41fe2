# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

from nova_rbd_cache import fleet
from tests.unit import base

_ITEM = {
    'modes': ['none', 'writeback'],
    'keys': ['rbd:detect_zeroes'],
    'versions': {
        'plug_in': '1',
        'nova': '34.0.0',
        'libvirt': '9.0.0',
        'qemu': '7.2.0',
    },
}


def _api(body: Any) -> Any:
    return mock.Mock(
        get=mock.Mock(
            return_value=mock.Mock(json=mock.Mock(return_value=body))
        )
    )


class FleetTest(base.TestCase):
    def rows(self, *hosts: Any) -> list[tuple[str, ...]]:
        """Return the rows for two hosts of Nova."""
        services = [
            {'host': host, 'status': 'enabled', 'state': 'up'}
            for host in ('two', 'one')
        ]
        return list(
            fleet.rows(
                _api({'services': services}),
                _api({'compute_hosts': list(hosts)}),
            )
        )

    def host(self, heard: str | None, without: str | None) -> Any:
        """Return what host ``one`` told Cinder."""
        return {
            'host': 'one',
            'rbd_host': _ITEM if heard else None,
            'heard_at': heard,
            'heard_without_plug_in_at': without,
        }

    def test_host_shows_what_it_told(self) -> None:
        one, two = self.rows(self.host('2026-11-28', None))
        self.assertEqual(
            (
                *('one', 'enabled, up', '1', '34.0.0', '9.0.0', '7.2.0'),
                *('none, writeback', 'rbd:discard_granularity'),
                '2026-11-28',
            ),
            one,
        )
        self.assertEqual(
            ('two', 'enabled, up', 'none', *[''] * 5, 'never'), two
        )

    def test_host_that_was_heard_without_the_plug_in_later_has_none(
        self,
    ) -> None:
        one, _ = self.rows(self.host('2026-11-27', '2026-11-28'))
        self.assertEqual(('none', '2026-11-28'), (one[2], one[-1]))

    def test_columns_fit_the_rows(self) -> None:
        for row in self.rows(self.host('2026-11-28', '2026-11-27')):
            self.assertEqual(len(fleet.COLUMNS), len(row))
