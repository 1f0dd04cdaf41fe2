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

"""Unit tests of cinder_rbd_ext.api.extension."""

import subprocess
import sys

from rbd_volume_options import wire
from tests.unit.cinder_rbd_ext.api import base


class ImportTest(base.ApiTestCase):
    def test_extension_can_be_imported_first(self) -> None:
        """Some of Cinder's modules must not be the first to be imported."""
        command = 'import cinder_rbd_ext.api.extension'
        done = subprocess.run(
            [sys.executable, '-c', command],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)


class LoadedTest(base.ApiTestCase):
    """Tests with the extension in osapi_volume_extension."""

    def test_extension_is_listed(self) -> None:
        path = f'/extensions/{wire.ALIAS}'
        found = self.ok('GET', path)['extension']
        self.assertEqual('RBDVolumeOptions', found['name'])
        self.assertIn('Ceph RBD', found['description'])


class NotLoadedTest(base.ApiTestCase):
    """Tests without the extension: only the driver refuses requests."""

    extensions = (base.STOCK,)

    def test_nothing_is_checked_or_shown(self) -> None:
        self.ok('POST', '/volumes', self.create({'rbd:object_size': '3M'}))
        response = self.call('GET', f'/{wire.ALIAS}')
        self.assertEqual(404, response.status_int)
        volume = self.volume(made=base.MADE)
        shown = self.ok('GET', f'/volumes/{volume.id}')['volume']
        self.assertEqual([], [k for k in shown if k.startswith('os-rbd')])
