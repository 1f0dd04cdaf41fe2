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

"""Unit tests of rbd_bench.paths.surroundings."""

import pathlib

from tests.unit.rbd_bench.paths import base


class SurroundingsTest(base.PathTestCase):
    def test_fill_without_cache(self) -> None:
        self.around.fill('disk', '--size=1M')
        arguments, env, _, _ = self.fio.call_args[0]
        self.assertIn('--rbdname=disk', arguments)
        self.assertEqual('--size=1M', arguments[-1])
        conf = pathlib.Path(env['CEPH_CONF']).read_text()
        self.assertIn('rbd_cache = false', conf)

    def test_time_of_fio_and_folder_of_its_output(self) -> None:
        found = self.around.run_fio(['--name=x'], {}, self.raw())
        self.assertEqual(base.FIGURES, found)
        self.assertEqual(3, self.fio.call_args[0][3])
        self.assertTrue(self.raw().parent.is_dir())
