# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import shutil

from nova_rbd_cache import accepted_modes
from tests.unit.nova_rbd_cache import base

_KEY = (base.SERVER_ID, base.VOLUME_ID)


class AcceptedModesTest(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.modes = accepted_modes.AcceptedModes()
        self.folder = pathlib.Path(self.conf.instances_path, base.SERVER_ID)

    def mode(self) -> str | None:
        """Return what a new nova-compute knows about the volume."""
        return accepted_modes.AcceptedModes().mode(*_KEY)

    def test_nothing_is_known(self) -> None:
        self.assertIsNone(self.mode())

    def test_last_mode_survives_a_restart_of_nova_compute(self) -> None:
        for mode in ('none', 'unsafe'):
            self.modes.add(*_KEY, mode)
            self.assertEqual(mode, self.mode())
        self.assertIsNone(self.modes.mode('another', base.VOLUME_ID))
        self.assertIsNone(self.modes.mode(base.SERVER_ID, 'another'))

    def test_mode_is_removed_with_the_folder_of_the_server(self) -> None:
        self.modes.add(*_KEY, 'unsafe')
        shutil.rmtree(self.folder)
        self.assertIsNone(self.modes.mode(*_KEY))

    def test_mode_is_kept_while_the_server_is_rebuilt(self) -> None:
        self.modes.add(*_KEY, 'unsafe')
        self.modes.keep(base.SERVER_ID)
        shutil.rmtree(self.folder)
        self.assertEqual('unsafe', self.modes.mode(*_KEY))
        self.modes.add(*_KEY, 'none')
        self.assertEqual('none', self.modes.mode(*_KEY))
        # The server is removed from this host, and comes back.
        shutil.rmtree(self.folder)
        self.assertIsNone(self.modes.mode(*_KEY))

    def test_server_without_a_folder_is_rebuilt(self) -> None:
        self.modes.keep(base.SERVER_ID)
        self.assertIsNone(self.modes.mode(*_KEY))

    def test_mode_that_cannot_be_written_is_logged(self) -> None:
        self.folder.write_text('')
        self.modes.add(*_KEY, 'unsafe')
        self.assertIsNone(self.mode())
        self.assertIn(base.VOLUME_ID, self.log.output)

    def test_interrupted_write_leaves_the_former_mode(self) -> None:
        self.modes.add(*_KEY, 'none')

        def fail(*args: object) -> None:
            raise OSError('no space left')

        self.patch(os, 'fsync', fail)
        self.modes.add(*_KEY, 'unsafe')
        self.assertEqual('none', self.mode())

    def test_damaged_file_is_no_mode(self) -> None:
        self.modes.add(*_KEY, 'none')
        (file,) = self.folder.glob('*/*')
        file.write_bytes(b'no\xffne')
        self.assertNotEqual('none', self.mode())
