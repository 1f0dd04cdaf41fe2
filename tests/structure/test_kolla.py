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

"""The page on Kolla names the versions that are tested."""

import re

from sandbox_cloud import state
from tests import tree
from tests.unit import base


class KollaPageTestCase(base.TestCase):
    def test_page_names_the_tested_versions(self) -> None:
        page = (tree.ROOT / 'doc/source/install/kolla.rst').read_text()
        words = set(re.findall(r'\d+\.\d+\.\d+', page))
        tested = set()
        for release in state.releases():
            text = (tree.ROOT / f'constraints/kolla/{release}.txt').read_text()
            tested |= set(
                re.findall(r'^kolla(?:-ansible)?==(.*)$', text, re.MULTILINE)
            )
        self.assertEqual(tested, words)
