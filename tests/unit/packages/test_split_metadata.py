# SPDX-License-Identifier: Apache-2.0

from importlib import metadata
import pathlib

import fixtures

from packages import split_metadata
from tests.unit import base

_METADATA = """\
Metadata-Version: 2.4
Name: rbd-volume-options
Version: 1.2.0
Summary: What it is
Requires-Dist: pbr

A text: with a colon.
"""
_POINTS = """\
[console_scripts]
Two-words = two.shell:main

[services]
one = one.plugin:Plugin
two = two:Plugin
"""


class SplitTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.site = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.whole = self.site / 'rbd_volume_options-1.2.0.dist-info'
        self.whole.mkdir()
        for name, text in (
            ('METADATA', _METADATA),
            ('entry_points.txt', _POINTS),
            ('RECORD', 'one/__init__.py,,'),
        ):
            (self.whole / name).write_text(text)
        self.made = split_metadata.split(self.site)

    def _points(self, folder: pathlib.Path) -> set[tuple[str, str, str]]:
        return {
            (point.group, point.name, point.value)
            for point in metadata.PathDistribution(folder).entry_points
        }

    def test_each_has_its_own_entry_points(self) -> None:
        one, two = self.made
        self.assertEqual(
            {('services', 'one', 'one.plugin:Plugin')}, self._points(one)
        )
        self.assertEqual(
            {
                ('console_scripts', 'Two-words', 'two.shell:main'),
                ('services', 'two', 'two:Plugin'),
            },
            self._points(two),
        )

    def test_nothing_leads_to_what_is_elsewhere(self) -> None:
        self.assertEqual(set(), self._points(self.whole))
        self.assertFalse((self.whole / 'RECORD').exists())

    def test_all_are_found_by_name(self) -> None:
        dists = {
            each.name: each
            for each in metadata.distributions(path=[str(self.site)])
        }
        self.assertEqual({'rbd-volume-options', 'one', 'two'}, set(dists))
        self.assertEqual('1.2.0', dists['two'].version)
        self.assertEqual(['rbd-volume-options==1.2.0'], dists['two'].requires)
