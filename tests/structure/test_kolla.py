# SPDX-License-Identifier: Apache-2.0

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
