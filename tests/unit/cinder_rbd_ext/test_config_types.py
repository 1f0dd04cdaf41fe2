#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

from collections.abc import Callable
import pathlib

import ddt
import fixtures
from oslo_config import cfg

from cinder_rbd_ext import config_types
from tests.unit import base

#: Each type, its valid values, and its invalid values with a reason.
TYPES: dict[
    str, tuple[config_types.Parsed, tuple[str, ...], dict[str, str]]
] = {
    'object_size': (
        config_types.OBJECT_SIZE,
        ('4M', '4096', '32MiB'),
        {'3M': 'not a power of two', '64M': 'out of range', 'x': 'not a size'},
    ),
    'stripe_unit': (
        config_types.STRIPE_UNIT,
        ('64K', '512'),
        {'256': 'out of range', '-1': 'not a size', '3K': 'power of two'},
    ),
    'stripe_count': (
        config_types.STRIPE_COUNT,
        ('1', '16'),
        {
            '0': 'not a positive whole number',
            '1e3': 'not a positive whole number',
        },
    ),
    'object_map': (
        config_types.OBJECT_MAP,
        ('true', 'False', '<is> True'),
        {'maybe': 'not a boolean'},
    ),
    'features': (
        config_types.FEATURES,
        ('layering', 'layering, exclusive-lock,object-map'),
        {
            'layering,object-map': 'object-map requires exclusive-lock',
            'layering,,deep-flatten': 'not an image feature',
        },
    ),
    'cache_mode': (
        config_types.CACHE_MODE,
        ('none', 'unsafe'),
        {'Writeback': 'not a cache mode', '': 'not a cache mode'},
    ),
    'cache_modes': (
        config_types.CACHE_MODES,
        ('none', 'none,unsafe', 'none, unsafe'),
        {'none,all': 'not a cache mode', 'none,,none': 'not a cache mode'},
    ),
    'keys': (
        config_types.KEYS,
        ('', 'rbd:stripe_unit,rbd:stripe_count'),
        {'rbd:data_pool': 'not a key that tenants can set'},
    ),
    'pool': (
        config_types.POOL,
        ('data', 'ec.data-1'),
        {'': 'not a valid pool name', 'a/b': 'not a valid pool name'},
    ),
}


@ddt.ddt
class ParsedTest(base.TestCase):
    """A value is checked when it is read, and kept as written."""

    def _read(self, option_type: config_types.Parsed, value: str) -> str:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (path / 'cinder.conf').write_text(f'[ceph]\nan_option = {value}\n')
        conf = cfg.ConfigOpts()
        conf.register_opt(cfg.Opt('an_option', type=option_type), 'ceph')
        conf(args=[], default_config_files=[str(path / 'cinder.conf')])
        return str(conf.ceph.an_option)

    @ddt.data(*TYPES)
    def test_takes(self, name: str) -> None:
        option_type, good, _ = TYPES[name]
        for value in good:
            self.assertEqual(value, self._read(option_type, value))

    @ddt.data(*TYPES)
    def test_refuses(self, name: str) -> None:
        option_type, _, bad = TYPES[name]
        for value, reason in bad.items():
            error = self.assertRaises(
                cfg.ConfigFileValueError, self._read, option_type, value
            )
            self.assertIn('option an_option', str(error))
            self.assertIn(reason, str(error))
            self.assertIn('; allowed: ', str(error))

    def test_refuses_without_our_key(self) -> None:
        """oslo.config names the option, so the message omits the key."""
        error = self.assertRaises(ValueError, config_types.OBJECT_SIZE, '3M')
        self.assertEqual(
            'not a power of two; allowed: a power of two from 4 KiB to 32 MiB',
            str(error),
        )

    def test_number(self) -> None:
        """A value that code sets may be a number."""
        self.assertEqual('4096', config_types.OBJECT_SIZE(4096))

    def test_equality(self) -> None:
        """oslo.config accepts a repeated option only if it is equal."""

        def parser(value: str) -> object:
            raise NotImplementedError

        def pair(
            parse: Callable[[str], object], name: str
        ) -> config_types.Parsed:
            return config_types.Parsed(parse, name)

        one = pair(parser, 'size')
        self.assertEqual(one, pair(parser, 'size'))
        self.assertEqual(hash(one), hash(pair(parser, 'size')))
        self.assertNotEqual(one, pair(parser, 'count'))
        self.assertNotEqual(one, pair(str, 'size'))
        self.assertNotEqual(one, 'size')
        self.assertEqual('size', repr(one))
