# SPDX-License-Identifier: Apache-2.0

"""The command line: nova-rbd-cache check and connector."""

import contextlib
from importlib import metadata
import io
import json
import pathlib
import sys
import tempfile
from typing import Any
from unittest import mock

import ddt

from nova_rbd_cache import check
from nova_rbd_cache import plugin
from nova_rbd_cache import shell
from tests.unit.nova_rbd_cache import test_check
from tests.unit.nova_rbd_cache import test_registration


@ddt.ddt
class ShellTest(test_registration.RegistrationTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.patch(metadata, 'version', lambda name: '1')
        self.patch(metadata, 'entry_points', lambda group: [test_check._POINT])

    def _check(self, text: str, *words: str) -> tuple[int, list[Any]]:
        path = pathlib.Path(tempfile.mkdtemp(), 'nova.conf')
        path.write_text(text)
        return self._run('--config-file', str(path), *words)

    def _run(self, *words: str) -> tuple[int, list[Any]]:
        # No command line has been parsed, as in a new process.
        self.conf.reset()
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            status = shell.main(['check', '-f', 'json', *words])
        return status, json.loads(shown.getvalue())

    def _failed(self, rows: list[Any]) -> list[str]:
        return [row['Subject'] for row in rows if row['Result'] != 'ok']

    def test_check_command_succeeds_with_the_plug_in(self) -> None:
        status, rows = self._check(
            '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n'
            '[rbd_cache]\nallowed_modes = none,unsafe\n'
        )
        self.assertEqual([], self._failed(rows))
        self.assertEqual(0, status)
        (modes,) = [r for r in rows if r['Subject'] == 'allowed modes']
        self.assertEqual('none, unsafe', modes['Detail'])

    @ddt.data(
        ('enabled = False', 'enabled'),
        ('allowed_modes = fast', 'options'),
        ('ephemeral_object_map = maybe', 'options'),
    )
    @ddt.unpack
    def test_not_active(self, line: str, subject: str) -> None:
        status, rows = self._check(
            '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n'
            f'[rbd_cache]\n{line}\n'
        )
        self.assertEqual([subject], self._failed(rows))
        self.assertEqual(1, status)

    def test_libvirt_too(self) -> None:
        finding = check.Finding('libvirt', False, 'not there')
        self.patch(check, 'libvirt', lambda conf: finding)
        status, rows = self._check(
            '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n', '--libvirt'
        )
        self.assertEqual(['libvirt'], self._failed(rows))
        self.assertEqual(1, status)

    def test_finds_what_nova_compute_finds(self) -> None:
        # oslo.config searches the home directory first.
        folder = pathlib.Path.home() / '.nova'
        (folder / 'nova-compute.conf.d').mkdir(parents=True)
        (folder / 'nova-compute.conf').write_text(
            '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n'
        )
        (folder / 'nova-compute.conf.d' / 'more.conf').write_text(
            '[rbd_cache]\nallowed_modes = none\n'
        )
        status, rows = self._run()
        self.assertEqual([], self._failed(rows))
        self.assertEqual(0, status)
        (modes,) = [r for r in rows if r['Subject'] == 'allowed modes']
        self.assertEqual('none', modes['Detail'])

    def _connector(self, line: str) -> tuple[int, str]:
        path = pathlib.Path(tempfile.mkdtemp(), 'nova.conf')
        path.write_text(
            '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n'
            f'host = compute-9\n[rbd_cache]\n{line}\n'
        )
        self.conf.reset()
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            status = shell.main(['connector', '--config-file', str(path)])
        return status, shown.getvalue()

    def test_connector_is_printed_as_json(self) -> None:
        """The connector is printed as JSON."""
        status, shown = self._connector('allowed_modes = none,unsafe')
        connector = json.loads(shown)
        self.assertEqual(0, status)
        self.assertEqual('compute-9', connector['host'])
        self.assertEqual(['none', 'unsafe'], connector['rbd_host']['modes'])
        self.assertIn('platform', connector)

    def test_connector_of_a_host_without_modes(self) -> None:
        """The output cannot be mistaken for a full connector."""
        status, shown = self._connector('enabled = False')
        self.assertEqual((1, ''), (status, shown))

    def test_where_nova_is_missing(self) -> None:
        with mock.patch.dict(sys.modules, {'nova.conf': None}):
            status, rows = self._check('')
        self.assertEqual(['Nova'], self._failed(rows))
        for words in (sys.prefix, 'use the nova-rbd-cache of'):
            self.assertIn(words, rows[0]['Detail'])
        self.assertEqual(1, status)

    def test_the_plugin_is_that_of_this_tree(self) -> None:
        self.assertIs(plugin.RBDCachePlugin, test_check._POINT.load())

    @ddt.data(
        'help check',
        'check --help',
        'check --libvirt -h',
        'check --config-file x --help',
    )
    def test_help_of_the_command(self, line: str) -> None:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            status = shell.main(line.split())
        text = ' '.join(shown.getvalue().split())
        self.assertEqual(0, status)
        for once in ('usage: ', ' --libvirt Also', 'this host. Reads '):
            self.assertEqual(1, text.count(once), text)

    def test_without_a_command(self) -> None:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            done = self.assertRaises(SystemExit, shell.main, [])
        self.assertEqual(2, done.code)
        self.assertEqual(1, shown.getvalue().count('Commands:'))
