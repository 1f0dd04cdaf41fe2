# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import subprocess
from unittest import mock

import ddt
import fixtures

from rbd_volume_options.families import cache_modes
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import qemu as daemon
from rbd_volume_tools.bench.paths import librbd
from tests.unit.rbd_volume_tools.bench import samples
from tests.unit.rbd_volume_tools.bench.paths import base

_PLAN = samples.PLAN.replace('path: qemu', 'path: librbd').replace(
    ', unsafe]', ']\n    messengers: [crc, secure]'
)


def _cell(**values: str) -> matrix.Cell:
    return next(
        each
        for each in matrix.cells(samples.from_text(_PLAN))
        if values.items() <= each.values.items()
    )


@ddt.ddt
class LibrbdTest(base.PathTestCase):
    def test_filled_image_is_removed(self) -> None:
        with librbd.direct(self.around, _cell(layout='striped')):
            (name,) = self.cluster.names()
            self.assertIn(f'--rbdname={name}', self.fio.call_args[0][0])
            self.assertIn('--name=fill', self.fio.call_args[0][0])
        self.assertEqual([], self.cluster.names())

    @ddt.data(
        ('none', 'crc', 'rbd_cache = false', 'ms_client_mode = crc secure'),
        ('writeback', 'secure', 'rbd_cache = true', 'ms_client_mode = secure'),
    )
    @ddt.unpack
    def test_client_configuration_has_cache_and_messenger(
        self, mode: str, messenger: str, cache: str, encryption: str
    ) -> None:
        cell = _cell(cache_mode=mode, messenger=messenger)
        with librbd.direct(self.around, cell) as measure:
            self.assertEqual(base.FIGURES, measure(cell, self.raw()))
        self.assertIn('--ioengine=rbd', self.fio.call_args[0][0])
        conf = pathlib.Path(self.env_of_last()['CEPH_CONF']).read_text()
        self.assertIn(f'{cache}\n', conf)
        self.assertIn(f'{encryption}\n', conf)


class QemuTest(base.PathTestCase):
    def test_disk_is_exported_with_its_cache_mode(self) -> None:
        exported = self.replace(daemon, 'exported')
        daemon_process = mock.create_autospec(
            subprocess.Popen, instance=True, pid=17
        )
        exported.return_value.__enter__.return_value = (
            pathlib.Path('/socket'),
            daemon_process,
        )
        cell = samples.cell(cache_mode='unsafe')
        with librbd.direct(self.around, cell) as measure:
            (name,) = self.cluster.names()
            self.assertEqual(base.FIGURES, measure(cell, self.raw()))
        self.assertEqual([], self.cluster.names())
        disk, env, _ = exported.call_args[0]
        self.assertEqual(name, disk.image)
        self.assertIs(cache_modes.CacheMode.UNSAFE, disk.mode)
        self.assertEqual(str(disk.conf), env['CEPH_CONF'])
        # The daemon sends the requests to the cluster.
        self.assertEqual(17, self.fio.call_args[0][4])
        # fio itself has no access to the configuration.
        self.assertIn('--ioengine=nbd', self.fio.call_args[0][0])
        conf = self.env_of_last().get('CEPH_CONF')
        self.assertNotEqual(str(disk.conf), conf)


class KernelTest(base.PathTestCase):
    def test_device_is_unmapped_and_image_removed(self) -> None:
        rbd = self.folder / 'rbd'
        calls = self.folder / 'calls'
        rbd.write_text(f'#!/bin/sh\necho "$@" >>{calls}\necho /dev/rbd7\n')
        rbd.chmod(0o700)
        path = f'{self.folder}:{os.environ["PATH"]}'
        self.useFixture(fixtures.EnvironmentVariable('PATH', path))
        parsed = samples.from_text(
            samples.PLAN.partition('published:')[0]
            .replace('path: qemu', 'path: krbd')
            .replace('    cache_modes: [none, writeback, unsafe]\n', '')
        )
        cell = samples.cell(parsed, workload='small')
        with librbd.kernel(self.around, cell) as measure:
            (name,) = self.cluster.names()
            self.assertEqual(base.FIGURES, measure(cell, self.raw()))
        self.assertIn('--filename=/dev/rbd7', self.fio.call_args[0][0])
        self.assertEqual([], self.cluster.names())
        first, second = calls.read_text().splitlines()
        self.assertIn(f'device map volumes/{name}', first)
        self.assertIn('device unmap /dev/rbd7', second)
