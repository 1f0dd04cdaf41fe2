# SPDX-License-Identifier: Apache-2.0

"""Attachments with a cache mode to servers, by Nova."""

import subprocess
from typing import Any

from osc_lib import exceptions

from rbd_volume_tools.client import attach
from sandbox_cloud import state
from tests import runs
from tests.cloud import base
from tests.cloud import test_cache_modes

_CACHE_MODES = 'os-rbd-volume-options:cache_modes'
_REFUSED = 'os-rbd-volume-options:attach_refused'
# Number of times that Nova updates an attachment if the status is 500.
_NOVA_TRIES = 5


class AttachTest(test_cache_modes.CacheModeTestCase):
    """Accepted and refused attachments to a guest."""

    def setUp(self) -> None:
        super().setUp()
        self.guest = self.boot()

    def _attach(self, volume: str, mode: str | None = None) -> base.Record:
        """Attach a volume like ``openstack volume rbd attach``."""
        attachment = attach.Attachment(
            self.tenant.block_storage, self.tenant.compute, volume, self.guest
        )
        row = attachment.make(mode, None, 200)
        self.remove_before_volumes(self.guest)
        return dict(zip(attach.COLUMNS, row, strict=True))

    def _check_command_refused(
        self, volume: str, mode: str, words: str
    ) -> None:
        """Check that the command refuses and leaves nothing behind."""
        before = self.metadata(volume)
        error = self.assertRaises(
            exceptions.CommandError, self._attach, volume, mode
        )
        self.assertIn(words, str(error))
        self._check_as_it_was(volume, before)

    def _check_as_it_was(self, volume: str, metadata: base.Record) -> None:
        """Check that a refused attachment leaves nothing behind."""
        self.wait_for(volume)
        shown = self.show(volume)
        self.assertEqual([], shown['attachments'])
        self.assertEqual(metadata, self.metadata(volume))
        answer = self.request(
            'GET', f'/attachments?volume_id={volume}', cloud=self.operator
        )
        self.assertEqual([], answer['attachments'])
        self.assertEqual('ACTIVE', self.server(self.guest)['status'])
        path = f'/servers/{self.guest}/os-volume_attachments'
        # Nova removes its record of the volume after Cinder does.
        self.until(lambda: not self.compute('GET', path)['volumeAttachments'])
        self.assertNotIn(
            volume, [d.findtext('serial') for d in self.disks(self.guest)]
        )

    def disks(self, server: str) -> list[Any]:
        """Return the disks of a guest."""
        return list(self.domain(server).iter('disk'))

    @runs.tags(runs.RELEASES)
    def test_guest_gets_the_mode(self) -> None:
        for mode in ('writeback', 'directsync'):
            volume = self.created()
            shown = self._attach(volume, mode)
            self.assertEqual(mode, shown['cache_mode'])
            self.assertEqual(mode, self.cache_mode(self.guest, volume))
            self.assertEqual(
                {shown['attachment_id']: mode}, self.show(volume)[_CACHE_MODES]
            )
            self.assertEqual({'rbd:cache_mode': mode}, self.metadata(volume))
            self.detach(self.guest, volume)
        volume = self.created()
        self.assertIsNone(self._attach(volume)['cache_mode'])
        self.assertEqual('none', self.cache_mode(self.guest, volume))

    @runs.tags(runs.NIGHTLY)
    def test_what_can_not_be_had(self) -> None:
        self._check_back_end()
        self._check_setting_of_the_image()
        self._check_host_without_the_plug_in()

    def _check_back_end(self) -> None:
        volume = self.created(metadata={'rbd:cache_mode': 'none'})
        words = 'not allowed by this back end'
        self._check_command_refused(volume, 'unsafe', words)

    def _check_setting_of_the_image(self) -> None:
        """The image's ``conf_rbd_cache`` would override QEMU's setting."""
        plain, asking = self.volume('none'), self.volume('writeback')
        for volume in (plain, asking):
            command = ['rbd', 'image-meta', 'set', self.image_of(volume)]
            command += ['conf_rbd_cache', 'false']
            subprocess.run(command, check=True)
        words = 'conf_rbd_cache = false'
        self._check_command_refused(plain, 'writeback', words)
        # Cinder 2025.1 returns status 500 if its driver refuses an attachment.
        of_2025_1 = state.State(state.default_root()).release == '2025.1'
        times = _NOVA_TRIES if of_2025_1 else 1
        self.check_refused_by_nova(self.guest, asking, words, times)

    def _check_host_without_the_plug_in(self) -> None:
        volume, asking = self.created(), self.volume('writeback')
        words = 'the compute host offers no cache modes'
        with self.configured('[rbd_cache]\nenabled = False\n'):
            self._check_command_refused(volume, 'writeback', words)
            self.assertIn(words, self.show(volume)[_REFUSED]['reason'])
            self.check_refused_by_nova(
                self.guest, asking, 'offers no cache modes'
            )
            # Without a requested mode there is nothing to refuse.
            self.assertIsNone(self._attach(volume)['cache_mode'])
            self.assertEqual('none', self.cache_mode(self.guest, volume))
            self.assertIsNone(self.show(volume)[_REFUSED])
        self.attach(self.guest, asking)
        self.assertEqual('writeback', self.cache_mode(self.guest, asking))
