# SPDX-License-Identifier: Apache-2.0

"""Tests for devstack/lib/nova: the plug-in's section of nova.conf."""

from tests.devstack import base


class NovaTest(base.DevStackTestCase):
    conf = 'etc/nova/nova.conf'

    def test_nothing_where_nothing_is_said(self) -> None:
        before = self.tree.read(self.conf)
        self.tree.check('stack', 'post-config')
        self.assertEqual(before, self.tree.read(self.conf))

    def test_left_out(self) -> None:
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_NOVA='False'
        )
        self.assertIn(
            '\n[rbd_cache]\nenabled = False\n', self.tree.read(self.conf)
        )

    def test_waits_for_neutron_which_writes_there_too(self) -> None:
        size = len(self.tree.read(self.conf))
        self.tree.check(
            'stack', 'post-config', RBD_VOLUME_OPTIONS_NOVA='False'
        )
        self.assertIn(
            f'async_wait configure_neutron_nova before {size}',
            self.tree.calls(),
        )
