# SPDX-License-Identifier: Apache-2.0

"""Test devstack/lib/tempest: the plug-in and Tempest's options."""

from tests import tree
from tests.devstack import base


class TempestTest(base.DevStackTestCase):
    def _plugins(self, **environ: str) -> str:
        self.tree.check('stack', 'install', **environ)
        (last,) = (
            call
            for call in self.tree.calls()
            if call.startswith('TEMPEST_PLUGINS=')
        )
        return last.partition('=')[2]

    def test_plugin_is_installed(self) -> None:
        self.assertEqual(str(tree.ROOT), self._plugins())

    def test_plugin_beside_others(self) -> None:
        self.assertEqual(
            f'/opt/stack/cinder-tempest-plugin {tree.ROOT}',
            self._plugins(TEMPEST_PLUGINS='/opt/stack/cinder-tempest-plugin'),
        )

    def test_plugin_is_named_once(self) -> None:
        named = f'{tree.ROOT} /opt/stack/other'
        self.assertEqual(named, self._plugins(TEMPEST_PLUGINS=named))

    def test_no_tempest(self) -> None:
        self.assertEqual('0', self._plugins(ENABLED_SERVICES='c-vol'))
