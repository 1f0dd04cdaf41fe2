# SPDX-License-Identifier: Apache-2.0

"""The entry point, as os-vif loads it."""

from importlib import metadata
import pathlib
import subprocess
import sys
import types
from unittest import mock

import os_vif
from stevedore import extension

from nova_rbd_cache import plugin
from nova_rbd_cache import registration
from tests.unit.nova_rbd_cache import base

# Load os-vif with our entry point; show the plug-ins and whether Nova was
# imported.
_LOAD = """
import os_vif, sys
from nova_rbd_cache import plugin
from stevedore import extension
manager = extension.ExtensionManager.make_test_instance(
    [extension.Extension('rbd_cache', None, plugin.RBDCachePlugin, None)],
    namespace='os_vif')
extension.ExtensionManager = lambda **kwargs: manager
os_vif.initialize()
print([p.plugin_name for p in os_vif.host_info().plugin_info])
print('nova' in sys.modules)
"""


class PluginTest(base.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(registration, 'activate', autospec=True)
        self.activated = patch.start()
        self.addCleanup(patch.stop)

    def _initialize(self) -> None:
        """Initialize os-vif with our entry point, which is not installed."""
        loaded = extension.Extension(
            'rbd_cache',
            metadata.EntryPoint('rbd_cache', plugin.__name__, 'os_vif'),
            plugin.RBDCachePlugin,
            None,
        )
        self.patch(os_vif, '_EXT_MANAGER', None)
        with mock.patch.object(
            extension.ExtensionManager,
            '_load_plugins',
            autospec=True,
            return_value=[loaded],
        ):
            os_vif.initialize()

    def _program(self, name: str) -> None:
        self._modules({name: types.ModuleType(name)})

    def _modules(self, more: dict[str, types.ModuleType]) -> None:
        patch = mock.patch.dict(sys.modules, more)
        patch.start()
        self.addCleanup(patch.stop)

    def test_active_in_nova_compute(self) -> None:
        self._program('nova.cmd.compute')
        self._initialize()
        self.activated.assert_called_once_with()

    def test_run_as_a_module(self) -> None:
        main = types.ModuleType('__main__')
        main.__spec__ = mock.Mock(spec_set=['name'])
        main.__spec__.name = 'nova.cmd.compute'
        self._modules({'__main__': main})
        self.assertTrue(plugin.in_nova_compute())

    def test_nothing_elsewhere(self) -> None:
        self._initialize()
        self.activated.assert_not_called()

    def test_a_failure_ends_nova_compute(self) -> None:
        self._program('nova.cmd.compute')
        self.activated.side_effect = registration.CannotRegister(reason='no')
        self.assertRaises(registration.CannotRegister, self._initialize)

    def test_one_of_os_vifs(self) -> None:
        self._initialize()
        (info,) = os_vif.host_info().plugin_info
        self.assertEqual('rbd_cache', info.plugin_name)
        self.assertEqual([], info.vif_info)
        made = plugin.RBDCachePlugin.load('rbd_cache')
        self.assertRaises(NotImplementedError, made.plug, None, None)
        self.assertRaises(NotImplementedError, made.unplug, None, None)


class ElsewhereTest(base.NovaTestCase):
    def test_without_nova(self) -> None:
        """Processes other than nova-compute load the plug-in without Nova."""
        root = pathlib.Path(__file__).resolve().parents[3]
        shown = subprocess.run(
            [sys.executable, '-c', _LOAD],
            cwd=root,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        self.assertEqual(["['rbd_cache']", 'False'], shown.splitlines())
