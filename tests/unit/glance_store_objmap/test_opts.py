# SPDX-License-Identifier: Apache-2.0

"""Test that options are registered and invalid values are refused."""

import pathlib
import tempfile
from unittest import mock

import ddt
from glance_store import driver
from glance_store import multi_backend
from oslo_config import cfg
import testtools

from glance_store_objmap import opts
from glance_store_objmap import releases
from glance_store_objmap import settings
from glance_store_objmap import store
from rbd_volume_options import keys
from tests.unit import base


@ddt.ddt
class OptsTest(base.TestCase):
    def test_options_are_listed_in_the_group_of_all_stores(self) -> None:
        # glance_store has no such section up to version 4.9.
        shared = getattr(driver, 'SHARED_CONF_GROUP', opts.SHARED_GROUP)
        self.assertEqual([(shared, opts.STORE_OPTS)], opts.list_opts())

    def test_each_key_has_an_option(self) -> None:
        names = {option.name for option in opts.STORE_OPTS}
        self.assertEqual(set(), set(settings.OPTION_OF_KEY.values()) - names)

    def _conf(self, text: str) -> cfg.ConfigOpts:
        conf = cfg.ConfigOpts()
        path = pathlib.Path(tempfile.mkdtemp(), 'glance-api.conf')
        path.write_text(f'[ours]\n{text}\n')
        conf(['--config-file', str(path)])
        return conf

    @ddt.data(
        ('rbd_store_object_size', '3M'),
        ('rbd_store_stripe_unit', '100'),
        ('rbd_store_stripe_count', '0'),
        ('rbd_store_object_map', 'maybe'),
        ('rbd_store_features', 'object-map'),
        ('rbd_store_features', 'layering, fast-diff'),
        ('rbd_store_write_depth', '0'),
        ('rbd_store_read_depth', '65'),
        ('rbd_store_upload_memory', '15'),
    )
    @ddt.unpack
    def test_wrong_value_names_the_option(self, name: str, value: str) -> None:
        made = store.Store(self._conf(f'{name} = {value}'), backend='ours')
        # Any error other than BadStoreConfiguration stops glance-api.
        error = self.assertRaises(cfg.ConfigFileValueError, made.configure)
        self.assertIn(name, str(error))

    @ddt.data('rbd_store_features = all', 'rbd_store_chunk_size = 64')
    def test_wrong_value_stops_the_start(self, text: str) -> None:
        """The error stops glance-api when it creates its stores."""
        conf = self._conf(
            f'{text}\n[DEFAULT]\nenabled_backends = ours:rbd_objmap'
        )
        conf.register_opt(cfg.DictOpt('enabled_backends'))
        with mock.patch.object(
            multi_backend,
            '_load_multi_store',
            autospec=True,
            side_effect=lambda conf, entry, backend: store.Store(
                conf, backend=backend
            ),
        ):
            error = self.assertRaises(
                ValueError, multi_backend.create_multi_stores, conf
            )
        self.assertIn(text.split(' ')[0], str(error))

    @testtools.skipUnless(
        hasattr(driver, 'SHARED_CONF_GROUP'),
        'this glance_store has no section that stores share',
    )
    def test_shared_section(self) -> None:
        conf = self._conf('[backend_defaults]\nrbd_store_object_map = true\n')
        made = store.Store(conf, backend='ours')
        parsed = settings.StoreSettings.read(releases.options_of(made))
        self.assertIs(True, parsed.options[keys.OBJECT_MAP])
