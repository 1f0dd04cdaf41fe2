# SPDX-License-Identifier: Apache-2.0

import datetime
from typing import Any

from cinder.db import api as db

from tests.unit.cinder_rbd_ext.api import base

_PATH = '/os-rbd-compute-hosts'
_ITEM = {'modes': ['none'], 'versions': {'libvirt': '9.0.0'}}
_TIME = datetime.datetime(2026, 11, 28, 12)


class ComputeHostsTest(base.ApiTestCase):
    def connected(
        self, host: str, hours: int, item: Any = None, status: str = 'attached'
    ) -> Any:
        """Create an attachment that was connected to a host."""
        connector = {'host': host} | ({'rbd_host': item} if item else {})
        attachment = self.add_attachment(self.volume().id, status)
        attachment.connector = connector
        attachment.save()
        values = {
            'attached_host': host,
            'updated_at': _TIME + datetime.timedelta(hours=hours),
        }
        db.volume_attachment_update(self.admin_context, attachment.id, values)
        return attachment

    def hosts(self) -> dict[str, Any]:
        """Return the hosts by their names."""
        answer = self.ok('GET', _PATH, app=self.admin)['compute_hosts']
        return {host.pop('host'): host for host in answer}

    def test_last_connector_of_each_host_is_shown(self) -> None:
        self.connected('one', 1, {**_ITEM, 'modes': ['writeback']})
        self.connected('one', 2, _ITEM)
        self.connected('one', 3)
        self.connected('two', 1)
        self.add_attachment(self.volume().id, 'reserved')
        self.assertEqual(
            {
                'one': {
                    'rbd_host': _ITEM,
                    'heard_at': '2026-11-28T14:00:00Z',
                    'heard_without_plug_in_at': '2026-11-28T15:00:00Z',
                },
                'two': {
                    'rbd_host': None,
                    'heard_at': None,
                    'heard_without_plug_in_at': '2026-11-28T13:00:00Z',
                },
            },
            self.hosts(),
        )

    def test_attachment_that_is_deleted_counts(self) -> None:
        self.connected('one', 1, _ITEM).destroy()
        self.assertEqual(_ITEM, self.hosts()['one']['rbd_host'])

    def test_only_administrators_see_hosts(self) -> None:
        for app in (self.app, self.reader):
            self.refused(403, 'get_compute_hosts', 'GET', _PATH, app=app)
