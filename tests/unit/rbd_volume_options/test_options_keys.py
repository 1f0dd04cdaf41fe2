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

import ddt

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from tests.unit.rbd_volume_options import refusals

Origin = errors.Origin
_VOLUME = keys.Scope.VOLUME


def _parse(
    items: dict[str, str],
    scope: keys.Scope = keys.Scope.TYPE,
    origin: Origin = Origin.VOLUME_TYPE,
) -> options.VolumeOptions:
    return options.parse(items, scope, origin)


@ddt.ddt
class KeyTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['unknown', 'rbd:stripe_size', "'rbd:stripe_size'"],
        ['prefix_alone', 'rbd:', "'rbd:'"],
        ['hyphen', 'rbd:object-size', "'rbd:object-size'"],
        ['twice_the_prefix', 'rbd:rbd:object_size', "'rbd:rbd:object_size'"],
        [
            'newline_and_a_false_log_line',
            'rbd:x\n2026-01-01 ERROR y',
            r"'rbd:x\n2026-01-01 ERROR y'",
        ],
        ['escape_sequence', 'rbd:\x1b[31m', r"'rbd:\x1b[31m'"],
        [
            'look_alike',
            'rbd:\u043ebject_size',
            r"'rbd:\u043ebject_size'",
        ],
        [
            'long',
            'rbd:' + 'x' * 251,
            f"'rbd:{'x' * 60}'... (255 characters)",
        ],
    )
    def test_unknown_key_is_refused(self, key: str, named: str) -> None:
        self.assertRefused(
            lambda: _parse({key: '4M'}, _VOLUME, Origin.VOLUME_METADATA),
            named,
            '4M',
            'unknown key',
            definitions.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.data('rbd:Object_Size', 'rbd:object_size ', 'rbd:\xf8bject_size')
    def test_misspelled_key_names_exact_spelling(self, key: str) -> None:
        self.assertRefused(
            lambda: _parse({key: '4M'}, _VOLUME, Origin.VOLUME_METADATA),
            ascii(key),
            '4M',
            'unknown key; the exact spelling is rbd:object_size',
            definitions.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.data(
        ('rbd:data_pool', 'ec-data'),
        ('rbd:tenant_options', 'rbd:cache_mode'),
    )
    @ddt.unpack
    def test_not_for_volumes(self, key: str, value: str) -> None:
        _parse({key: value})
        self.assertRefused(
            lambda: _parse({key: value}, _VOLUME, Origin.VOLUME_METADATA),
            key,
            value,
            'not a key of volume metadata',
            definitions.names(_VOLUME),
            Origin.VOLUME_METADATA,
        )

    @ddt.named_data(
        [
            'unit_without_count',
            'rbd:stripe_unit',
            '64K',
            'set without rbd:stripe_count',
        ],
        [
            'count_without_unit',
            'rbd:stripe_count',
            '8',
            'set without rbd:stripe_unit',
        ],
        [
            'bad_unit_without_count',
            'rbd:stripe_unit',
            '3M',
            'set without rbd:stripe_count',
        ],
    )
    def test_half_of_striping_is_refused(
        self, key: str, value: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: _parse({key: value, 'rbd:object_size': '4M'}),
            key,
            value,
            reason,
            'both or neither',
            Origin.VOLUME_TYPE,
        )

    @ddt.named_data(
        ['unit', '3M', '8', 'rbd:stripe_unit', '3M', 'not a power of two'],
        [
            'count',
            '64K',
            '0',
            'rbd:stripe_count',
            '0',
            'not a positive whole number',
        ],
        [
            'both_names_one',
            '0',
            '0',
            'rbd:stripe_unit',
            '0',
            'not a power of two',
        ],
    )
    def test_invalid_half_of_striping_is_named(
        self, unit: str, count: str, key: str, value: str, reason: str
    ) -> None:
        self.assertRefused(
            lambda: _parse(
                {'rbd:stripe_unit': unit, 'rbd:stripe_count': count}
            ),
            key,
            value,
            reason,
            origin=Origin.VOLUME_TYPE,
        )
