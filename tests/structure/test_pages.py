# SPDX-License-Identifier: Apache-2.0

"""The documentation, release notes and sample files can be built."""

import os
import pathlib
import re
import subprocess
import sys

import ddt
import fixtures

from tests import tree
from tests.structure import built
from tests.unit import base

_PROGRAMS = pathlib.Path(sys.executable).parent
_SAMPLES = 'etc/oslo-config-generator/'
#: Addresses that a browser loads or sends a form to; links are excluded.
_LOADED = re.compile(
    r'<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)="([^"]*)"'
    r'|<form\b[^>]*?\baction="([^"]*)"'
    r'|data-baseUrl="([^"]*)"'
)


@ddt.ddt
class PagesTestCase(base.TestCase):
    """Tests that build the pages from the installed wheel."""

    # Sphinx reads the whole documentation.
    timeout = 600

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.built = self.useFixture(built.BuiltDistribution()).built

    def _make(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(_PROGRAMS / program), *arguments],
            cwd=tree.ROOT,
            env={**os.environ, 'PYTHONPATH': str(self.built.installed)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)

    @ddt.data('doc/source', 'releasenotes/source')
    def test_pages_build_without_warnings(self, source: str) -> None:
        warn = ('-W', '--keep-going', '-q')
        self._make('sphinx-build', *warn, source, self.folder)
        pages = list(pathlib.Path(self.folder).rglob('*.html'))
        self.assertNotEqual([], pages)
        for page in pages:
            self._check(page.read_text())
            if '<table class="docutils' in page.read_text():
                self.assertIn('tables.css', page.read_text())

    def _check(self, page: str) -> None:
        """Check that a page loads nothing remote, unlike the stock theme."""
        loaded = [''.join(each) for each in _LOADED.findall(page)]
        self.assertNotEqual([], loaded)
        self.assertEqual([], [x for x in loaded if '//' in x])
        self.assertNotRegex(page, 'gtag|openstack-search|badge.html')
        self.assertIn('<form action="', page)
        self.assertIn('licensed under the', page)
        self.assertNotIn('Creative Commons', page)

    def test_equal_sources_make_equal_man_pages(self) -> None:
        pages = self.useFixture(built.ManPages()).texts
        again = built.write_man_pages(pathlib.Path(self.folder))
        self.assertEqual(pages, again)

    def test_samples_are_generated(self) -> None:
        names = [x for x in tree.files() if x.startswith(_SAMPLES)]
        self.assertNotEqual([], names)
        for name in names:
            out = ('--output-file', f'{self.folder}/sample')
            self._make('oslo-config-generator', '--config-file', name, *out)
