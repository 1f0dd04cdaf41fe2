# SPDX-License-Identifier: Apache-2.0

import pathlib

import ddt
import fixtures

from rbd_volume_tools.command_line import configuration
from tests.unit import base


@ddt.ddt
class ConfigurationTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def read(self, *texts: str) -> configuration.Configuration:
        paths = []
        for number, text in enumerate(texts):
            paths.append(self.folder / str(number))
            paths[-1].write_text(text)
        return configuration.Configuration(paths)

    def test_values_are_read_as_oslo_config_does(self) -> None:
        conf = self.read(
            '[DEFAULT]\na = 1\na = 2\nb = x, y,\n[c]\nd = %(e)s\n'
        )
        self.assertEqual(('1', '2'), conf.all('DEFAULT', 'a'))
        self.assertEqual('2', conf.get('DEFAULT', 'a'))
        self.assertEqual(('x', 'y'), conf.list('DEFAULT', 'b'))
        self.assertEqual('%(e)s', conf.get('c', 'd'))
        self.assertEqual('z', conf.get('none', 'd', 'z'))
        self.assertEqual(('DEFAULT', 'c'), conf.sections())

    def test_later_files_override(self) -> None:
        conf = self.read('[a]\nb = 1\nc = 2\n', '[a]\nb = true\n')
        self.assertIs(True, conf.is_true('a', 'b', False))
        self.assertIs(False, conf.is_true('a', 'c', True))
        self.assertIs(True, conf.is_true('a', 'd', True))
        self.assertEqual('2', conf.get('a', 'c'))
        self.assertEqual(f'{self.folder}/0, {self.folder}/1', str(conf))

    @ddt.data('a,b', 'a:rbd, b:rbd_objmap')
    def test_back_ends_share_options_that_their_sections_do_not_set(
        self, enabled: str
    ) -> None:
        shared = '[backend_defaults]\nuser = cinder\npool = volumes\n'
        conf = self.read(
            f'[DEFAULT]\nenabled_backends = {enabled}\n{shared}'
            '[a]\npool = fast\n[b]\npool =\n[other]\n'
        )
        self.assertEqual('cinder', conf.get('a', 'user'))
        self.assertEqual('fast', conf.get('a', 'pool'))
        self.assertEqual('', conf.get('b', 'pool', 'rbd'))
        self.assertEqual('', conf.get('other', 'user'))

    @ddt.data('a = 1', '[a\nb = 1', '\x00')
    def test_invalid_file_is_refused(self, text: str) -> None:
        self.assertRaises(ValueError, self.read, text)

    def test_line_that_cannot_be_read_is_not_shown(self) -> None:
        """It may be a password."""
        error = self.assertRaises(ValueError, self.read, '[a]\nAQBkey\n')
        self.assertIn(f'{self.folder}/0: line 2: No', str(error))
        self.assertNotIn('AQBkey', str(error))

    def test_missing_file_is_refused(self) -> None:
        error = self.assertRaises(
            ValueError,
            configuration.Configuration,
            [self.folder / 'none'],
        )
        self.assertIn('Cannot read', str(error))
