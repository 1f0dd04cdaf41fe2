# SPDX-License-Identifier: Apache-2.0

"""The options, their defaults and errors for invalid values."""

import pathlib
import tempfile

import ddt
from oslo_config import cfg

from nova_rbd_cache import settings
from tests.unit import base


@ddt.ddt
class OptsTest(base.TestCase):
    def _conf(self, text: str) -> cfg.ConfigOpts:
        conf = cfg.ConfigOpts()
        path = pathlib.Path(tempfile.mkdtemp(), 'nova.conf')
        path.write_text(f'[rbd_cache]\n{text}\n')
        conf(['--config-file', str(path)])
        return conf

    @ddt.data(
        ('enabled', 'perhaps'),
        ('allowed_modes', 'none,,writeback'),
        ('allowed_modes', 'all'),
        ('disk_iothread', '2'),
        ('disk_queues', '0'),
        ('disk_queues', '257'),
        ('disk_queues', 'many'),
        ('ephemeral_object_map', 'maybe'),
        ('ephemeral_image_features', 'object-map'),
        ('ephemeral_image_features', 'layering,fast-diff'),
    )
    @ddt.unpack
    def test_wrong_value_names_the_option(self, name: str, value: str) -> None:
        conf = self._conf(f'{name} = {value}')

        def read() -> None:
            settings.enabled(conf)
            settings.read(conf)

        error = self.assertRaises(cfg.ConfigFileValueError, read)
        self.assertIn(name, str(error))
