# SPDX-License-Identifier: Apache-2.0

import datetime
from typing import Any
from unittest import mock

from openstack_dashboard import api

from horizon_volume_opts.admin_images import conversions
from tests.unit import base
from tests.unit.horizon_volume_opts.admin_images import fake_cinder


class ConversionsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = fake_cinder.Client()
        patch = mock.patch.object(
            api.cinder, 'cinderclient', autospec=True, return_value=self.cinder
        )
        patch.start()
        self.addCleanup(patch.stop)

    def read(self, **values: Any) -> list[conversions.Conversion]:
        volume = fake_cinder.volume(**{'status': 'retyping', **values})
        self.cinder.volumes.all.append(volume)
        return conversions.read(mock.sentinel.request)

    def test_running_conversion_is_listed(self) -> None:
        told = {'percent': 0, 'at': '2026-01-02T03:04:05Z', 'reason': None}
        (entry,) = self.read(conversion={**told, 'new_type_id': '2'})
        self.assertEqual(('vol', 'rbd'), (entry.name, entry.former))
        self.assertEqual(('striped', 0), (entry.target, entry.percent))
        time = datetime.datetime(
            2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc
        )
        self.assertEqual(time, entry.at)

    def test_what_is_unknown(self) -> None:
        """The type was deleted, or the extension is of an older release."""
        told = {'percent': 7, 'at': '2026-99-99T00:00:00'}
        for new_type, expected in (('9', '9'), (None, '')):
            self.cinder.volumes.all.clear()
            (entry,) = self.read(
                conversion={**told, 'new_type_id': new_type},
                name='',
                volume_type=None,
            )
            self.assertEqual(expected, entry.target)
            self.assertEqual((entry.ident, ''), (entry.name, entry.former))
            self.assertIsNone(entry.at)

    def test_volumes_without_conversion_are_not_listed(self) -> None:
        """A migration, a stock API, and a conversion that was refused."""
        refused = {'percent': None, 'at': None, 'reason': 'clones'}
        self.assertEqual([], self.read(conversion=None))
        self.assertEqual([], self.read(loaded=False))
        for invalid in (['x'], {'percent': 'x'}):
            self.assertEqual([], self.read(conversion=invalid))
        self.assertEqual([], self.read(conversion=refused))
        self.assertEqual([], self.read(status='available'))
