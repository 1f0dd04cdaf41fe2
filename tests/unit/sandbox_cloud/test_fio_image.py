# SPDX-License-Identifier: Apache-2.0

import os
import pathlib

import fixtures

from sandbox_cloud import errors
from sandbox_cloud import fio_image
from tests.unit import base


class FioImageTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def path(self) -> pathlib.Path:
        return fio_image.image(self.root, self.root / 'log').path

    def put_fio(self) -> pathlib.Path:
        """Put another program in place of fio."""
        fio = self.root / 'fio'
        fio.write_bytes(pathlib.Path('/bin/busybox').read_bytes())
        fio.chmod(0o755)
        path = f'{self.root}:{os.environ["PATH"]}'
        self.useFixture(fixtures.EnvironmentVariable('PATH', path))
        return fio

    def test_the_libraries_of_a_program(self) -> None:
        libraries = fio_image.libraries('/bin/sh')
        names = {pathlib.PurePath(name).name for name in libraries}
        self.assertIn('libc.so.6', names)
        for name, path in libraries.items():
            self.assertEqual(f'/{name}', str(path))
            self.assertTrue(path.is_file())

    def test_the_program_of_the_benchmark_is_there(self) -> None:
        self.assertTrue(os.access(fio_image.PROGRAM, os.X_OK))

    def test_another_program_is_another_image(self) -> None:
        fio = self.put_fio()
        self.useFixture(
            fixtures.MonkeyPatch(
                'sandbox_cloud.fio_image.libraries', lambda program: {}
            )
        )
        first = self.path()
        self.assertTrue(first.name.startswith('fio-'))
        with fio.open('ab') as out:
            out.write(b'another')
        self.assertNotEqual(first, self.path())

    def test_without_fio(self) -> None:
        self.useFixture(fixtures.EnvironmentVariable('PATH', str(self.root)))
        self.assertRaises(errors.SandboxError, self.path)
