# SPDX-License-Identifier: Apache-2.0

import ddt

from tests.life import expectation
from tests.life import kinds
from tests.life import model
from tests.life import state
from tests.unit import base

MIB = 2**20
_FEATURES = frozenset(
    {'layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten'}
)
_SHARED = frozenset({'layering', 'deep-flatten'})
PLAIN = (4 * MIB, 4 * MIB, 1)
STRIPED = (MIB, 65536, 8)


def _volume(kind: str, **values: object) -> model.Volume:
    of = kinds.by_name()[kind]
    volume = model.Volume('v1', 'ident', 'a', of, 1, {}, {})
    for name, value in values.items():
        setattr(volume, name, value)
    return volume


def _image(layout: tuple[int, int, int]) -> state.State:
    return state.State(2**30, *layout, _FEATURES, None, 0)


@ddt.ddt
class LayoutsTestCase(base.TestCase):
    def _check(self, volume: model.Volume, *expected: object) -> None:
        backend = kinds.BACKENDS['rbd']
        layouts = expectation.layouts(volume, backend)
        self.assertEqual({*expected}, layouts)

    def test_nobody_asks(self) -> None:
        self._check(_volume('plain'), PLAIN)

    def test_a_type_asks(self) -> None:
        self._check(_volume('striped'), STRIPED)

    def test_keys_come_first(self) -> None:
        volume = _volume('striped-open', keys={'rbd:object_size': '8M'})
        self._check(volume, (8 * MIB, 65536, 8))

    def test_a_clone_inherits_what_it_could_ask_for(self) -> None:
        source = [_image(STRIPED)]
        self._check(_volume('plain', bases=source), STRIPED)
        self._check(_volume('none', bases=source), PLAIN)

    def test_a_layout_is_inherited_as_a_whole(self) -> None:
        self._check(_volume('some', bases=[_image(STRIPED)]), PLAIN)
        large = (8 * MIB, 8 * MIB, 1)
        self._check(_volume('some', bases=[_image(large)]), large)

    def test_a_retype_keeps_or_drops_it(self) -> None:
        volume = _volume('plain', bases=[_image(STRIPED)], inherits=False)
        self._check(volume, STRIPED, PLAIN)

    def test_what_does_not_divide_the_size(self) -> None:
        odd = (MIB, MIB, 3)
        self._check(_volume('plain', bases=[_image(odd)]), odd, PLAIN)

    @ddt.data(
        ('plain', {}, _FEATURES),
        ('plain', {'rbd:object_map': 'false'}, {'exclusive-lock'}),
        ('mapless', {}, set()),
        (
            'mapless',
            {'rbd:object_map': 'true'},
            {'exclusive-lock', 'object-map', 'fast-diff'},
        ),
        ('shared', {'rbd:object_map': 'true'}, set()),
    )
    @ddt.unpack
    def test_shared_images_lack_features_of_single_clients(
        self, kind: str, keys: dict[str, str], expected: set[str]
    ) -> None:
        features = expectation.single_client(
            _volume(kind, keys=keys), kinds.BACKENDS['rbd']
        )
        self.assertEqual({frozenset(expected) - _SHARED}, features)

    @ddt.data(
        ('plain', 'rbd', None),
        ('pool', 'rbd', 'volumes-data'),
        ('second', 'rbd2', 'volumes-data'),
    )
    @ddt.unpack
    def test_data_pool(self, kind: str, name: str, pool: str | None) -> None:
        backend = kinds.BACKENDS[name]
        self.assertEqual(pool, expectation.data_pool(_volume(kind), backend))
