# SPDX-License-Identifier: Apache-2.0

"""Tests for the differences between releases of glance_store."""

import types
from unittest import mock

from glance_store import driver
from glance_store._drivers import rbd as stock
from oslo_config import cfg

from glance_store_objmap import releases
from glance_store_objmap import store
from tests import runs
from tests.unit import base


@runs.tags(runs.RELEASES)
class OptionsOfTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conf = cfg.ConfigOpts()
        self.conf.register_opts(stock._RBD_OPTS, group='ours')
        self.conf.register_opts(stock._RBD_OPTS, group='glance_store')
        self.conf([])
        self.conf.set_override('rbd_store_pool', 'ours', group='ours')
        self.conf.set_override('rbd_store_pool', 'one', group='glance_store')

    def _pool(self, group: str | None) -> str:
        # A store of glance_store 4.9 has the configuration and its section.
        old = types.SimpleNamespace(conf=self.conf, backend_group=group)
        return str(releases.options_of(old).rbd_store_pool)

    def test_by_section(self) -> None:
        self.assertEqual('ours', self._pool('ours'))

    def test_the_only_store(self) -> None:
        self.assertEqual('one', self._pool(None))

    def test_of_the_store_at_hand(self) -> None:
        made = store.Store(self.conf, backend='ours')
        self.assertEqual('ours', releases.options_of(made).rbd_store_pool)
        if hasattr(driver, 'BackendGroupConfiguration'):
            self.assertIs(made.store_conf, releases.options_of(made))


@runs.tags(runs.RELEASES)
class RBDOfTest(base.TestCase):
    @mock.patch.object(stock, 'rbd', autospec=False)
    def test_stock_stores_own_choice(self, rbd: mock.Mock) -> None:
        old = types.SimpleNamespace(RBDProxy=lambda: 'off the hub')
        self.assertEqual('off the hub', releases.rbd_of(old))
        new = types.SimpleNamespace()
        self.assertIs(rbd.RBD.return_value, releases.rbd_of(new))
