# SPDX-License-Identifier: Apache-2.0

"""Test the programs that the part `clients` compiles."""

import pathlib
import re

import fixtures

from runner import client_programs
from tests import tree
from tests.unit import base

# Replaces Go: its modules are in one folder, and it builds a text.
_GO = """\
#!/bin/sh
case $1 in
mod) echo '{{"Dir": "{folder}"}}' ;;
list) echo '{{"Version": "v1.2.0"}}' ;;
build)
    while [ "$1" != -o ]; do shift; done
    echo program >"$2"
    ;;
esac
"""


class ClientProgramsTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        cache = fixtures.EnvironmentVariable(
            'XDG_CACHE_HOME', str(self.folder)
        )
        self.useFixture(cache)
        self.proto = self.folder / 'csi.proto'
        self.proto.touch()
        self.path = self.folder / 'go'
        self.path.write_text(_GO.format(folder=self.folder))
        self.path.chmod(0o755)

    def build(self) -> None:
        """Build the CSI plug-in."""
        client_programs._Go(str(self.path)).build(client_programs.CSI)

    def test_program_is_kept_with_its_files(self) -> None:
        self.build()
        self.assertEqual('program\n', client_programs.CSI.path.read_text())
        kept = client_programs.CSI.folder / 'csi.proto'
        self.assertTrue(kept.exists())

    def test_program_does_not_exist_after_a_failure(self) -> None:
        self.proto.unlink()
        self.assertRaises(FileNotFoundError, self.build)
        self.assertFalse(client_programs.CSI.path.exists())
        self.proto.touch()
        self.build()
        self.assertTrue(client_programs.CSI.path.exists())

    def test_pages_name_the_versions_that_are_tested(self) -> None:
        texts = [
            path.read_text()
            for path in (tree.ROOT / 'doc/source/user').glob('*.rst')
        ]
        pins = (tree.ROOT / client_programs.REQUIREMENTS).read_text()
        versions = [each.version for each in client_programs.PROGRAMS]
        versions += re.findall(r'^ansible==(\S+)', pins, re.M)
        self.assertEqual(
            [],
            [
                version
                for version in versions
                if not any(version.lstrip('v') in text for text in texts)
            ],
        )
