# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""devstack/lib/horizon: the enabled file."""

from tests import tree
from tests.devstack import base


class HorizonTest(base.DevStackTestCase):
    def test_enabled_file(self) -> None:
        self.tree.check('stack', 'post-config')
        source = tree.ROOT / 'horizon_volume_opts' / 'enabled'
        wanted = {path.name for path in source.glob('_[0-9]*.py')}
        self.assertNotEqual(set(), wanted)
        for name in wanted:
            self.assertEqual(
                (source / name).read_text(),
                self.tree.read(f'{base.ENABLED}/{name}'),
            )
