# SPDX-License-Identifier: Apache-2.0

"""Test that the wheel and the sdist are complete and load."""

import configparser
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

from docutils import core
import fixtures

from rbd_volume_options import published
from tests import distribution
from tests import tree
from tests.structure import built
from tests.unit import base

# Runs without the checkout or an editable install on the path, so that every
# name that loads comes from the wheel.
_LOAD = """
import importlib.metadata, json, sys
target, = sys.argv[1:]
sys.path.insert(0, target)
distribution = importlib.metadata.Distribution.at(
    next(p for p in __import__('pathlib').Path(target).glob('*.dist-info')))
result = {}
for point in distribution.entry_points:
    name = f'{point.group}: {point.name} = {point.value}'
    try:
        point.load()
        result[name] = sys.modules[point.module].__file__
    except Exception as error:
        result[name] = f'{type(error).__name__}: {error}'
print(json.dumps(result))
"""


#: A build makes it.
_METADEFS = 'rbd-volume-options.json'
#: Folders of the tree that are installed below the prefix, and their targets.
_DATA = {
    'etc/monitoring': 'share/rbd-volume-options/monitoring',
    'etc/systemd': 'lib/systemd/system',
}


class BuiltTestCase(base.TestCase):
    # Builds wait for the disk and the processors on a busy machine.
    timeout = 600

    def setUp(self) -> None:
        super().setUp()
        self.built = self.useFixture(built.BuiltDistribution()).built

    def _in_packages(self) -> set[str]:
        """Return the files of the packages, and those that a build makes."""
        starts = tuple(f'{package}/' for package in tree.PACKAGES)
        files = {name for name in tree.files() if name.startswith(starts)}
        return files | {
            str(pathlib.PurePath(name).with_suffix('.mo'))
            for name in files
            if name.endswith('.po')
        }

    def _held(self, wheel: pathlib.Path) -> set[str]:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        return {
            re.sub(r'^[^/]+\.data/data/', '', name)
            for name in names
            if '.dist-info/' not in name
        }

    def _in_wheel(self) -> set[str]:
        """Return the files of the packages, and those for the prefix."""
        made = f'share/rbd-volume-options/metadefs/{_METADEFS}'
        return {made, *self._in_packages()} | {
            f'{target}/{pathlib.PurePath(name).name}'
            for folder, target in _DATA.items()
            for name in tree.files()
            if name.startswith(f'{folder}/')
        }

    def test_build_warns_about_nothing(self) -> None:
        """Neither about folders that are not listed, nor by pbr."""
        self.assertIn('Successfully built', self.built.log)
        self.assertNotIn('would be ignored', self.built.log)
        self.assertNotRegex(self.built.log, r'(?i)deprecat|\w+Warning')

    def test_wheel_holds_metadata_definitions(self) -> None:
        """The definitions are installed below the environment's prefix."""
        (data,) = self.built.installed.glob('*.data/data')
        path = data / 'share/rbd-volume-options/metadefs' / _METADEFS
        self.assertEqual(published.metadefs(), json.loads(path.read_text()))

    def test_description_needs_no_repository(self) -> None:
        """The description on a package index cannot link to files."""
        (info,) = self.built.installed.glob('*.dist-info')
        text = (info / 'METADATA').read_text().partition('\n\n')[2]
        wanted = (tree.ROOT / 'DESCRIPTION.rst').read_text()
        self.assertEqual(wanted.strip(), text.strip())
        self.assertEqual([], re.findall(r'<(?!http)[^>]*>`_|image::.*', text))
        sink = io.StringIO()
        core.publish_doctree(text, settings_overrides={'warning_stream': sink})
        self.assertEqual('', sink.getvalue())

    def test_wheel_holds_every_file_of_the_packages(self) -> None:
        self.assertEqual(self._in_wheel(), self._held(self.built.wheel))

    def test_wheel_of_a_tree_without_git_holds_them_too(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        wheel = distribution.build_archive(folder)
        self.assertEqual(self._in_wheel(), self._held(wheel))

    def test_sdist_holds_every_file_of_the_tree(self) -> None:
        with tarfile.open(self.built.sdist) as sdist:
            held = {
                member.name.partition('/')[2]
                for member in sdist.getmembers()
                if member.isfile()
            }
        # Files that only git reads are not part of a release.
        left_out = {'.gitignore', '.mailmap', '.gitattributes', '.gitreview'}
        self.assertEqual(set(), set(tree.files()) - held - left_out)

    def test_shallow_clones_build_equal_files_with_the_version(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        targets = [folder / 'one', folder / 'other']
        distribution.build_shallow_clones(targets)
        one, other = (
            {
                path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in target.iterdir()
            }
            for target in targets
        )
        self.assertEqual(
            {
                'rbd_volume_options-1.0.0.dev0-py3-none-any.whl',
                'rbd_volume_options-1.0.0.dev0.tar.gz',
            },
            set(one),
        )
        self.assertEqual(one, other)

    def test_version_of_a_tree_without_tags(self) -> None:
        self.assertIn('-1.0.0', self.built.wheel.name)

    def test_entry_points_are_those_of_the_project(self) -> None:
        (info,) = self.built.installed.glob('*.dist-info')
        # Names of entry points are case-sensitive; ConfigParser lowers keys.
        written = configparser.ConfigParser(delimiters='=')
        written.optionxform = str  # type: ignore[assignment,method-assign]
        written.read(info / 'entry_points.txt')
        groups = {name: dict(written[name]) for name in written.sections()}
        self.assertEqual(tree.entry_points(), groups)

    def test_every_entry_point_loads_from_the_wheel(self) -> None:
        environ = dict(os.environ)
        environ.pop('PYTHONPATH', None)
        shown = subprocess.run(
            [sys.executable, '-c', _LOAD, str(self.built.installed)],
            cwd=self.built.installed,
            env=environ,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        loaded = json.loads(shown.splitlines()[-1])
        self.assertNotEqual({}, loaded)
        elsewhere = {
            name: where
            for name, where in loaded.items()
            if not where.startswith(str(self.built.installed))
        }
        self.assertEqual({}, elsewhere)
