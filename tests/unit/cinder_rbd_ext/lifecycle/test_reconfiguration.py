#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of cinder_rbd_ext.lifecycle.reconfiguration.

The functional tests show what happens to an image.
"""

from typing import Any
from unittest import mock

from cinder.db import api as db
import fixtures

from cinder_rbd_ext import record
from cinder_rbd_ext.imaging import configuration
from rbd_volume_options import keys
from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext import base

_ENTRY = 'conf_rbd_compression_hint'


class ReconfigurationsTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.made_volume()
        self.volume.status = 'available'
        self.volume.save()

    def _set(self, hint: str) -> None:
        metadata = {keys.COMPRESSION_HINT: hint}
        db.volume_metadata_update(self.admin, self.volume.id, metadata, False)

    def _entry(self) -> str | None:
        stored = self.cluster.stored(self.volume.name)
        entry: str | None = stored.metadata.get(_ENTRY)
        return entry

    def test_image_is_opened_only_for_a_difference(self) -> None:
        self._set('compressible')
        self.driver.remove_export(self.context, self.volume)
        self.assertEqual('compressible', self._entry())
        with mock.patch.object(
            self.driver.images, 'opened', autospec=True
        ) as opened:
            self.driver.remove_export(self.context, self.volume)
        opened.assert_not_called()

    def test_key_that_changes_meanwhile_is_in_force_afterwards(self) -> None:
        self._set('compressible')
        change = configuration.change

        def changed(*args: Any) -> None:
            change(*args)
            if self._entry() == 'compressible':
                self._set('incompressible')

        self.useFixture(
            fixtures.MockPatchObject(configuration, 'change', changed)
        )
        self.driver.remove_export(self.context, self.volume)
        self.assertEqual('incompressible', self._entry())
        self.assertEqual(
            'incompressible',
            self.recorded(self.volume)[keys.COMPRESSION_HINT],
        )

    def test_attachment_applies_what_an_earlier_change_did_not(self) -> None:
        self._set('compressible')
        with mock.patch.object(
            configuration, 'change', autospec=True, side_effect=OSError('no')
        ):
            self.driver.remove_export(self.context, self.volume)
        self.assertIn(wire.RECORD_CONFIGURING, record.items_of(self.volume.id))
        self.driver.initialize_connection(self.volume, {'host': 'a'})
        self.assertEqual('compressible', self._entry())
        self.assertNotIn(
            wire.RECORD_CONFIGURING, record.items_of(self.volume.id)
        )

    def test_volume_that_is_deleted_is_left_alone(self) -> None:
        self._set('compressible')
        self.volume.status = 'deleting'
        self.volume.save()
        self.driver.remove_export(self.context, self.volume)
        self.assertIsNone(self._entry())
