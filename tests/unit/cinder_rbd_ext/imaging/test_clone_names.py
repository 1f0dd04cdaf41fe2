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

"""Unit tests of cinder_rbd_ext.imaging.clone_names."""

import inspect

from cinder.volume.drivers import rbd
import ddt

from cinder_rbd_ext.imaging import clone_names
from tests.unit import base


@ddt.ddt
class CloneNamesTest(base.TestCase):
    @ddt.data(clone_names.SNAPSHOT, clone_names.DELETED)
    def test_suffixes_of_the_stock_driver(self, suffix: str) -> None:
        source = inspect.getsource(rbd.RBDDriver)
        self.assertRegex(source, f'["\']%s{suffix}["\'] %')
