# SPDX-License-Identifier: Apache-2.0

import io
import pathlib
import tempfile
from typing import Any

from cinder.volume import configuration
from cinder.volume import driver as cinder_driver
import ddt
import fixtures
from oslo_config import cfg
from oslo_config import generator

from cinder_rbd_ext import driver
from cinder_rbd_ext import opts
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests.unit import base

_NAMES = sorted(option.name for option in opts.backend_opts())

_LIMITS = [
    f'rbd_volume_{each.name}_{word}'
    for each in keys.LIMITS
    for word in ('limit', 'burst', 'burst_seconds')
]

#: An invalid value of each option.
_WRONG = {
    'rbd_min_object_size': '3M',
    'rbd_max_objects': '0',
    'rbd_volume_object_size': '3M',
    'rbd_volume_stripe_unit': '256',
    'rbd_volume_stripe_count': '0',
    'rbd_volume_object_map': 'perhaps',
    'rbd_ensure_volume_type': 'perhaps',
    'rbd_volume_features': 'layering,object-map',
    'rbd_volume_cache_mode': 'fast',
    'rbd_volume_compression_hint': 'fast',
    **dict.fromkeys(_LIMITS, '0'),
    'rbd_volume_discard': 'perhaps',
    'rbd_volume_discard_granularity': '12M',
    'rbd_volume_detect_zeroes': 'zap',
    'rbd_volume_sector_size': '4k',
    'rbd_volume_boot_from_4096': 'perhaps',
    'rbd_allowed_cache_modes': 'none,fast',
    'rbd_cache_mode_enforcement': 'Strict!',
    'rbd_tenant_options': 'rbd:stripe_unit,stripe_count',
    'rbd_max_stripe_count': '0',
    'rbd_require_whole_stripes': 'perhaps',
    'rbd_volume_data_pool': 'pool/namespace',
    'rbd_cloud_id': 'my cloud',
    'rbd_data_pools': 'pool/namespace',
    'rbd_share_connections': 'perhaps',
    'rbd_conversion_verify': 'perhaps',
    'rbd_conversion_keep': '-1',
    'rbd_purge_at_once': '0',
    'rbd_purge_rate': '-1',
}


def _conf(text: str, group: str = opts.SHARED_GROUP) -> cfg.ConfigOpts:
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as stream:
        stream.write(f'[{group}]\n{text}\n')
        stream.flush()
        conf = cfg.ConfigOpts()
        conf.register_opts(opts.backend_opts(), group)
        conf(args=[], default_config_files=[stream.name])
        return conf


@ddt.ddt
class OptionsTest(base.TestCase):
    def test_defaults_of_all_options(self) -> None:
        conf = _conf('')
        self.assertEqual(
            {
                'rbd_volume_object_size': None,
                'rbd_volume_stripe_unit': None,
                'rbd_volume_stripe_count': None,
                'rbd_volume_object_map': None,
                'rbd_volume_features': None,
                'rbd_volume_cache_mode': None,
                'rbd_volume_compression_hint': None,
                **dict.fromkeys(_LIMITS),
                'rbd_volume_discard': None,
                'rbd_volume_discard_granularity': None,
                'rbd_volume_detect_zeroes': None,
                'rbd_volume_sector_size': None,
                'rbd_volume_boot_from_4096': None,
                'rbd_allowed_cache_modes': (
                    'none,writethrough,writeback,directsync'
                ),
                'rbd_cache_mode_enforcement': 'strict',
                'rbd_tenant_options': '',
                'rbd_max_stripe_count': 64,
                'rbd_require_whole_stripes': True,
                'rbd_min_object_size': '64K',
                'rbd_max_objects': 1 << 24,
                'rbd_volume_data_pool': None,
                'rbd_cloud_id': None,
                'rbd_data_pools': [],
                'rbd_share_connections': True,
                'rbd_conversion_verify': True,
                'rbd_conversion_keep': 86400,
                'rbd_ensure_volume_type': False,
                'rbd_purge_at_once': 4,
                'rbd_purge_rate': 0,
            },
            {name: conf[opts.SHARED_GROUP][name] for name in _NAMES},
        )

    @ddt.data(*_NAMES)
    def test_wrong_value_names_the_option(self, name: str) -> None:
        conf = _conf(f'{name} = {_WRONG[name]}', 'ceph')
        error = self.assertRaises(
            cfg.ConfigFileValueError, getattr, conf.ceph, name
        )
        self.assertIn(f'option {name}', str(error))

    def test_every_key_has_an_option(self) -> None:
        self.assertLessEqual(set(registry.conf_names().values()), set(_NAMES))

    def test_driver_lists_them_beside_the_stock_ones(self) -> None:
        listed = {o.name for o in driver.RBDExtDriver.get_driver_options()}
        self.assertLess({*_NAMES, 'rbd_pool', 'rbd_store_chunk_size'}, listed)

    def test_shared_section_of_cinder(self) -> None:
        self.assertEqual(configuration.SHARED_CONF_GROUP, opts.SHARED_GROUP)
        settings = configuration.Configuration(
            cinder_driver.volume_opts, config_group='ceph-shared'
        )
        settings.append_config_values(opts.backend_opts())
        cfg.CONF.set_override('rbd_max_stripe_count', 7, opts.SHARED_GROUP)
        self.addCleanup(
            cfg.CONF.clear_override, 'rbd_max_stripe_count', opts.SHARED_GROUP
        )
        self.assertEqual(7, settings.safe_get('rbd_max_stripe_count'))


class SampleTest(base.TestCase):
    """The output of oslo-config-generator for the namespace."""

    def setUp(self) -> None:
        super().setUp()
        # The entry point exists only in an installed distribution; the
        # structure tests check that it names this function.
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_config.generator._get_raw_opts_loaders', self._loaders
            )
        )

    def _loaders(self, namespaces: list[str]) -> list[tuple[str, Any]]:
        self.assertEqual(['cinder_rbd_ext'], namespaces)
        return [('cinder_rbd_ext', opts.list_opts)]

    def _sample(self) -> str:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'conf'
        path.write_text('[DEFAULT]\nnamespace = cinder_rbd_ext\n')
        conf = cfg.ConfigOpts()
        generator.register_cli_opts(conf)
        conf(args=[f'--config-file={path}'])
        out = io.StringIO()
        generator.generate(conf, out)
        return out.getvalue()

    def test_every_option_with_its_help(self) -> None:
        sample = self._sample()
        self.assertIn('[backend_defaults]', sample)
        # The generator wraps help texts, also after a hyphen.
        folded = ''.join(sample.replace('#', ' ').split())
        for option in opts.backend_opts():
            self.assertIn(f'#{option.name} =', sample)
            self.assertIn(''.join((option.help or '?').split()), folded)

    def test_sample_can_be_used_as_it_is(self) -> None:
        """Every option is valid when its comment sign is removed."""
        lines = [
            line.removeprefix('#')
            for line in self._sample().splitlines()
            if line.startswith('#rbd_') and '<None>' not in line
        ]
        conf = _conf('\n'.join(lines))
        self.assertNotEqual([], lines)
        for line in lines:
            getattr(conf[opts.SHARED_GROUP], line.split()[0])
