# SPDX-License-Identifier: Apache-2.0

import types
from typing import Any

from nova.compute import manager

from nova_rbd_cache import compute_manager
from nova_rbd_cache import exceptions
from tests.unit.nova_rbd_cache import base

_SERVER = types.SimpleNamespace(uuid=base.SERVER_ID)


class InitInstanceTest(base.NovaTestCase):
    def init(self, error: Exception | None = None) -> list[Any]:
        """Initialize a server; return what the stock method received."""
        received: list[Any] = []

        def stock(this: Any, *args: Any) -> None:
            received.extend(args)
            if error is not None:
                raise error

        self.patch(manager.ComputeManager, '_init_instance', stock)
        ours: Any = compute_manager.RBDCacheManager
        ours._init_instance(object.__new__(ours), None, _SERVER)
        return received

    def test_stock_method_is_called(self) -> None:
        self.assertEqual([None, _SERVER], self.init())
        self.assertNotIn(base.SERVER_ID, self.log.output)

    def test_refused_mode_does_not_stop_nova_compute(self) -> None:
        self.init(
            exceptions.CacheModeRefused(
                volume_id=base.VOLUME_ID, mode='unsafe', allowed='none'
            )
        )
        for word in ('ERROR', base.SERVER_ID, base.VOLUME_ID):
            self.assertIn(word, self.log.output)

    def test_any_other_error_is_left_to_nova(self) -> None:
        self.assertRaises(ZeroDivisionError, self.init, ZeroDivisionError())
