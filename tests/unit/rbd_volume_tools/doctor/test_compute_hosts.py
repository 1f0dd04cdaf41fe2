# SPDX-License-Identifier: Apache-2.0

from typing import Any

from rbd_volume_options import compute_hosts as described
from rbd_volume_options import definitions
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import compute_hosts
from tests.unit import base
from tests.unit.rbd_volume_tools.doctor import hosts
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_S = findings.Severity
_NOW = '2026-11-28T12:00:00Z'


def _told(host: str, item: Any, at: str | None = _NOW) -> dict[str, Any]:
    return {
        'host': host,
        described.CONNECTOR_ITEM: item,
        'heard_at': at if item else None,
        'heard_without_plug_in_at': None if item else at,
    }


def _item(*modes: str, plug_in: str = '1') -> dict[str, Any]:
    keys = sorted(described.keys_with_requirements())
    versions = {'plug_in': plug_in}
    return {'modes': list(modes), 'keys': keys, 'versions': versions}


class ComputeHostsTest(base.TestCase):
    def problems(self, *told: Any) -> list[Any]:
        """Return the problems of a cloud with hosts ``a`` to ``d``."""
        cinder, nova = fake_cloud.Service(), fake_cloud.Service()
        cinder.answers[definitions.HOSTS_ROUTE] = {'compute_hosts': list(told)}
        nova.answers['/os-services?binary=nova-compute'] = {
            'services': [
                {'host': host, 'status': status}
                for host, status in (
                    ('b', 'enabled'),
                    ('a', 'enabled'),
                    ('gone', 'disabled'),
                )
            ]
        }
        self.checked = list(compute_hosts.check(nova, cinder))
        return hosts.problems(self.checked)

    def test_hosts_that_are_alike(self) -> None:
        self.assertEqual(
            [],
            self.problems(
                _told('a', _item('none')), _told('b', _item('none'))
            ),
        )
        self.assertEqual('2 of 2 have the plug-in', self.checked[0].seen)

    def test_hosts_without_the_plug_in(self) -> None:
        self.assertEqual(
            [
                ('compute hosts without the plug-in', _S.WARNING),
                ('compute hosts not heard yet', _S.NOTICE),
            ],
            self.problems(_told('a', None), _told('gone', None)),
        )

    def test_hosts_that_differ(self) -> None:
        older = _item('none', plug_in='0')
        older['keys'] = []
        self.assertEqual(
            [
                ('compute hosts: cache modes', _S.NOTICE),
                ('compute hosts: plug-in versions', _S.NOTICE),
                ('compute hosts that cannot apply all keys', _S.NOTICE),
            ],
            self.problems(
                _told('a', _item('none', 'writeback')), _told('b', older)
            ),
        )
        self.assertEqual('none: b; none, writeback: a', self.checked[1].seen)
