# SPDX-License-Identifier: Apache-2.0

"""Behaviours of librbd that the driver relies on, for librbd and the fake.

If the two differ, tests that use the fake prove nothing.
"""

from collections.abc import Callable
from typing import Any

import ddt

from rbd_volume_options import layout
from tests import feature_bits

TIB = 1 << 40
#: The default size of images: small, because removal takes time.
SIZE = 16 << 20
KIB = 1 << 10
LAYERING = feature_bits.LAYERING
STRIPING = feature_bits.STRIPING
LOCK = feature_bits.LOCK
OBJECT_MAP = feature_bits.OBJECT_MAP
FAST_DIFF = feature_bits.FAST_DIFF
DEEP_FLATTEN = feature_bits.DEEP_FLATTEN
JOURNALING = feature_bits.JOURNALING
DATA_POOL = feature_bits.DATA_POOL
OPERATIONS = feature_bits.OPERATIONS
DEFAULT = feature_bits.DEFAULT
WITH_MAP = LAYERING | LOCK | OBJECT_MAP | FAST_DIFF
WITHOUT_MAP = LAYERING | LOCK | DEEP_FLATTEN
#: A bit that belongs to no feature.
UNKNOWN = 1 << 40
MAP_INVALID = 3

STRIPED: dict[str, Any] = {
    'order': 20,
    'stripe_unit': 64 * KIB,
    'stripe_count': 8,
}

#: The request, and the resulting order, unit, count and features.
MADE: dict[str, tuple[dict[str, Any], tuple[int, int, int, int]]] = {
    'nothing': ({}, (22, layout.DEFAULT_OBJECT_SIZE, 1, DEFAULT)),
    'order_zero': ({'order': 0}, (22, 1 << 22, 1, DEFAULT)),
    'smallest': ({'order': 12}, (12, 4096, 1, DEFAULT)),
    'largest': ({'order': 25}, (25, 1 << 25, 1, DEFAULT)),
    'striped': (STRIPED, (20, 64 * KIB, 8, DEFAULT | STRIPING)),
    'unit_alone_in_an_object': (
        {'order': 22, 'stripe_unit': 64 * KIB, 'stripe_count': 1},
        (22, 64 * KIB, 1, DEFAULT | STRIPING),
    ),
    'no_striping_in_words': (
        {'order': 20, 'stripe_unit': 1 << 20, 'stripe_count': 1},
        (20, 1 << 20, 1, DEFAULT),
    ),
    'smallest_unit': (
        {'order': 12, 'stripe_unit': 512, 'stripe_count': 2},
        (12, 512, 2, DEFAULT | STRIPING),
    ),
    'object_map_brings_fast_diff': (
        {'features': LAYERING | LOCK | OBJECT_MAP},
        (22, 1 << 22, 1, LAYERING | LOCK | OBJECT_MAP | FAST_DIFF),
    ),
    'fast_diff_alone_is_dropped': (
        {'features': LAYERING | FAST_DIFF},
        (22, 1 << 22, 1, LAYERING),
    ),
    'bits_that_follow_are_dropped': (
        {'features': LAYERING | STRIPING | DATA_POOL},
        (22, 1 << 22, 1, LAYERING),
    ),
    'none_at_all': ({'features': 0}, (22, 1 << 22, 1, 0)),
}

#: The request, and the error of librbd.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    'order_too_small': ({'order': 11}, 'ArgumentOutOfRange'),
    'order_too_large': ({'order': 26}, 'ArgumentOutOfRange'),
    'unit_alone': ({'stripe_unit': 64 * KIB}, 'InvalidArgument'),
    'count_alone': ({'stripe_count': 2}, 'InvalidArgument'),
    'unit_no_factor': (
        {'stripe_unit': 192 * KIB, 'stripe_count': 2},
        'InvalidArgument',
    ),
    'unit_too_large': (
        {'order': 16, 'stripe_unit': 128 * KIB, 'stripe_count': 2},
        'InvalidArgument',
    ),
    'unit_too_small': (
        {'stripe_unit': 256, 'stripe_count': 2},
        'InvalidArgument',
    ),
    'map_without_lock': (
        {'features': LAYERING | OBJECT_MAP},
        'InvalidArgument',
    ),
    'journal_without_lock': (
        {'features': LAYERING | JOURNALING},
        'InvalidArgument',
    ),
    'unknown_feature': (
        {'features': LAYERING | UNKNOWN},
        'FunctionNotSupported',
    ),
    'map_too_large': (
        {'size': 2 * TIB, 'order': 12, 'features': DEFAULT},
        'InvalidArgument',
    ),
    'data_pool_unknown': ({'data_pool': 'no-such-pool'}, 'ImageNotFound'),
}

#: Features before, the change, whether to enable, features and flags after.
CHANGED: dict[str, tuple[int, int, bool, int, int]] = {
    'map_and_lock': (LAYERING, LOCK | OBJECT_MAP, True, WITH_MAP, MAP_INVALID),
    'map': (LAYERING | LOCK, OBJECT_MAP, True, WITH_MAP, MAP_INVALID),
    'fast_diff_brings_the_map': (
        LAYERING | LOCK,
        FAST_DIFF,
        True,
        WITH_MAP,
        MAP_INVALID,
    ),
    'no_map': (DEFAULT, OBJECT_MAP, False, WITHOUT_MAP, 0),
    'no_fast_diff_no_map': (DEFAULT, FAST_DIFF, False, WITHOUT_MAP, 0),
    'no_lock_nor_map': (
        WITH_MAP,
        LOCK | OBJECT_MAP | FAST_DIFF,
        False,
        LAYERING,
        0,
    ),
    'no_deep_flatten': (
        LAYERING | DEEP_FLATTEN,
        DEEP_FLATTEN,
        False,
        LAYERING,
        0,
    ),
}

#: Features before, the change, whether to enable.
UNCHANGEABLE: dict[str, tuple[int, int, bool]] = {
    'nothing': (DEFAULT, 0, True),
    'what_is_there': (DEFAULT, OBJECT_MAP, True),
    'some_of_it_is_there': (LAYERING | LOCK, LOCK | OBJECT_MAP, True),
    'what_is_not_there': (LAYERING, LOCK, False),
    'map_without_lock': (LAYERING, OBJECT_MAP, True),
    'lock_under_the_map': (DEFAULT, LOCK, False),
    'layering': (DEFAULT, LAYERING, False),
    'striping': (DEFAULT, STRIPING, True),
    'deep_flatten_again': (LAYERING, DEEP_FLATTEN, True),
    'unknown': (LAYERING, UNKNOWN, True),
}


@ddt.ddt
class Images:
    """Behaviours of images.

    A subclass gives the module ``rbd``, a context for an empty pool, the
    name of a second pool and a connection's ``pool_lookup``.
    """

    module: Any
    ioctx: Any
    other_pool: str
    pool_lookup: Callable[[str], int | None]

    def create(
        self, name: str = 'i', size: int = SIZE, **options: Any
    ) -> None:
        """Create an image."""
        self.module.RBD().create(
            self.ioctx, name, size, old_format=False, **options
        )

    def open(self, name: str = 'i', **kwargs: Any) -> Any:
        """Open an image for the duration of the test."""
        image = self.module.Image(self.ioctx, name, **kwargs)
        self.addCleanup(image.close)  # type: ignore[attr-defined]
        return image

    def numbers(self, name: str = 'i') -> tuple[int, int, int, int]:
        """Return the order, unit, count and features of an image."""
        with self.module.Image(self.ioctx, name, read_only=True) as image:
            order = image.stat()['order']
            self.check(1 << order, image.stat()['obj_size'])
            return (
                order,
                image.stripe_unit(),
                image.stripe_count(),
                image.features(),
            )

    def names(self) -> list[str]:
        """Return the images of the pool."""
        return sorted(self.module.RBD().list(self.ioctx))

    def check(self, wanted: object, got: object) -> None:
        """Check that two things are equal."""
        self.assertEqual(wanted, got)  # type: ignore[attr-defined]

    def refuses(
        self, name: str, call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Check that a call fails with one of librbd's errors."""
        wanted = getattr(self.module, name)
        error = self.assertRaises(  # type: ignore[attr-defined]
            wanted, call, *args, **kwargs
        )
        self.check(wanted, type(error))
        self.check(True, isinstance(error, self.module.Error))
        return error

    # Creation

    @ddt.data(*MADE)
    def test_create_makes_requested_layout(self, case: str) -> None:
        options, made = MADE[case]
        self.create(**{'features': DEFAULT, **options})
        self.check(made, self.numbers())
        with self.open() as image:
            self.check(SIZE, image.size())
            self.check(0, image.flags())
            self.check('i', image.get_name())
            self.check([], list(image.metadata_list()))

    @ddt.data(*REFUSED)
    def test_create_refused(self, case: str) -> None:
        options, error = REFUSED[case]
        self.refuses(error, self.create, **{'features': LAYERING, **options})
        self.check([], self.names())

    def test_create_what_exists(self) -> None:
        self.create(order=20)
        error = self.refuses('ImageExists', self.create)
        self.check(17, error.errno)
        self.check(20, self.numbers()[0])

    def _has_object(self, name: str) -> bool:
        try:
            self.ioctx.stat(name)
        except Exception as error:
            self.check(2, getattr(error, 'errno', None))
            return False
        return True

    def test_object_that_tells_whether_an_image_exists(self) -> None:
        """The driver checks for this object instead of opening the image."""
        self.check(False, self._has_object('rbd_id.i'))
        self.create()
        self.check(True, self._has_object('rbd_id.i'))
        self.module.RBD().remove(self.ioctx, 'i')
        self.check(False, self._has_object('rbd_id.i'))

    def test_default_features(self) -> None:
        self.create()
        self.check(DEFAULT, self.numbers()[3])

    def test_data_pool(self) -> None:
        self.create(features=LAYERING, data_pool=self.other_pool)
        self.check(LAYERING | DATA_POOL, self.numbers()[3])
        self.check(
            self.pool_lookup(self.other_pool), self.open().data_pool_id()
        )

    def test_no_data_pool(self) -> None:
        own = self.ioctx.get_pool_id()
        for name, options in (
            ('none', {}),
            ('own', {'data_pool': self.ioctx.get_pool_name()}),
        ):
            self.create(name, features=LAYERING, **options)
            self.check(LAYERING, self.numbers(name)[3])
            self.check(own, self.open(name).data_pool_id())

    def test_default_striping_of_a_pool(self) -> None:
        self.set_pool_option('rbd_default_stripe_unit', '32768')
        self.set_pool_option('rbd_default_stripe_count', '4')
        values = {
            o['name']: o['value']
            for o in self.module.RBD().config_list(self.ioctx)
        }
        self.check('32768', values['rbd_default_stripe_unit'])
        self.check('4', values['rbd_default_stripe_count'])
        self.create(order=21)
        self.check((21, 32768, 4), self.numbers()[:3])
        self.create('explicit', order=21, stripe_unit=1 << 21, stripe_count=1)
        self.check((21, 1 << 21, 1), self.numbers('explicit')[:3])

    def test_no_default_striping(self) -> None:
        values = {
            o['name']: o['value']
            for o in self.module.RBD().config_list(self.ioctx)
        }
        self.check('0', values['rbd_default_stripe_unit'])
        self.check('0', values['rbd_default_stripe_count'])

    def cache_option(self) -> tuple[str, int]:
        """Return ``rbd_cache`` of an image, and its source."""
        (shown,) = (
            (option['value'], option['source'])
            for option in self.open(read_only=True).config_list()
            if option['name'] == 'rbd_cache'
        )
        return shown

    def test_cache_option(self) -> None:
        self.create()
        self.check(('true', 0), self.cache_option())
        self.set_pool_option('rbd_cache', 'false')
        self.check(('false', 1), self.cache_option())
        self.open().metadata_set('conf_rbd_cache', '1')
        self.check(('1', 2), self.cache_option())

    def set_pool_option(self, name: str, value: str) -> None:
        """Set an option of the pool."""
        raise NotImplementedError

    # Features of an existing image

    @ddt.data(*CHANGED)
    def test_update_features(self, case: str) -> None:
        before, change, enable, after, flags = CHANGED[case]
        self.create(features=before)
        image = self.open()
        image.update_features(change, enable)
        self.check((after, flags), (image.features(), image.flags()))

    @ddt.data(*UNCHANGEABLE)
    def test_update_features_refused(self, case: str) -> None:
        before, change, enable = UNCHANGEABLE[case]
        self.create(features=before)
        image = self.open()
        self.refuses('InvalidArgument', image.update_features, change, enable)
        self.check((before, 0), (image.features(), image.flags()))

    def test_rebuild_head_and_snapshots_apart(self) -> None:
        self.create(features=LAYERING | LOCK)
        image = self.open()
        image.update_features(OBJECT_MAP, True)
        image.create_snap('s')
        image.rebuild_object_map()
        at_snapshot = self.open(snapshot='s')
        self.check((0, 3), (image.flags(), at_snapshot.flags()))
        at_snapshot.rebuild_object_map()
        self.check(0, at_snapshot.flags())

    def test_enabled_map_distrusts_older_snapshots(self) -> None:
        self.create(features=LAYERING | LOCK)
        image = self.open()
        image.create_snap('s')
        image.update_features(OBJECT_MAP, True)
        with self.open(snapshot='s') as at_snapshot:
            self.check(MAP_INVALID, at_snapshot.flags())
        image.rebuild_object_map()
        with self.open(snapshot='s') as at_snapshot:
            self.check(MAP_INVALID, at_snapshot.flags())
        image.update_features(OBJECT_MAP, False)
        with self.open(snapshot='s') as at_snapshot:
            self.check(0, at_snapshot.flags())

    def test_rebuild_without_a_map(self) -> None:
        self.create(features=LAYERING)
        self.refuses('InvalidArgument', self.open().rebuild_object_map)

    def test_resize_needs_room_in_object_map(self) -> None:
        self.create(order=12, features=DEFAULT)
        image = self.open()
        image.resize(2 * SIZE)
        self.check(2 * SIZE, image.size())
        self.refuses('InvalidArgument', image.resize, 2 * TIB)
        self.check(2 * SIZE, image.size())
