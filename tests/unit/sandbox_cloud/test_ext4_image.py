# SPDX-License-Identifier: Apache-2.0

import os
import pathlib

import fixtures

from sandbox_cloud import errors
from sandbox_cloud import ext4_image
from tests.unit import base


class Ext4ImageTestCase(base.TestCase):
    def test_without_mkfs(self) -> None:
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.EnvironmentVariable('PATH', str(root)))
        self.assertRaises(
            errors.SandboxError, ext4_image.image, root, root / 'log'
        )

    def test_the_program_of_the_guest_is_there(self) -> None:
        self.assertTrue(os.access(ext4_image.PROGRAM, os.X_OK))
