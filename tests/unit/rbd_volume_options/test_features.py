# SPDX-License-Identifier: Apache-2.0

import itertools
import random

from rbd_volume_options import errors
from rbd_volume_options import features
from tests import feature_bits
from tests.unit.rbd_volume_options import refusals

_ALLOWED = (
    'a comma-separated list of layering, exclusive-lock, '
    'object-map, fast-diff, deep-flatten, journaling'
)
_LAYERING = feature_bits.LAYERING
_LOCK = feature_bits.LOCK
_DEEP_FLATTEN = feature_bits.DEEP_FLATTEN
_JOURNALING = feature_bits.JOURNALING
_WITH_MAP = _LAYERING | _LOCK | feature_bits.MAP
_WITHOUT_MAP = _LAYERING | _LOCK | _DEEP_FLATTEN
_STATES = (
    feature_bits.OPERATIONS | feature_bits.MIGRATING | feature_bits.NON_PRIMARY
)
_DEFAULT = 'layering,exclusive-lock,object-map,fast-diff,deep-flatten'


class FeaturesTestCase(refusals.RefusalTestCase):
    def test_features_are_those_of_librbd(self) -> None:
        """include/rbd/features.h."""
        self.assertEqual(
            {
                'layering': 1,
                'striping': 2,
                'exclusive-lock': 4,
                'object-map': 8,
                'fast-diff': 16,
                'deep-flatten': 32,
                'journaling': 64,
                'data-pool': 128,
            },
            features.FEATURES,
        )
        # RBD_FEATURES_MUTABLE and RBD_FEATURES_SINGLE_CLIENT.
        self.assertEqual(
            {'exclusive-lock', 'object-map', 'fast-diff', 'journaling'},
            features.MUTABLE,
        )
        self.assertEqual(features.MUTABLE, features.SINGLE_CLIENT)
        self.assertEqual(
            set(features.FEATURES) - {'striping', 'data-pool'},
            features.CHOOSABLE,
        )

    def test_unknown_bits_of_a_mask_are_ignored(self) -> None:
        for mask in range(256):
            self.assertEqual(mask, features.to_mask(features.from_mask(mask)))
        self.assertEqual(
            features.from_mask(feature_bits.DEFAULT),
            features.from_mask(feature_bits.DEFAULT | _STATES | 1 << 40),
        )

    def test_object_map_adds_and_removes_what_librbd_does(self) -> None:
        for before, wanted, after in (
            (_LAYERING, True, _WITH_MAP),
            (
                _LAYERING | _DEEP_FLATTEN | _JOURNALING,
                True,
                feature_bits.DEFAULT | _JOURNALING,
            ),
            (feature_bits.DEFAULT, True, feature_bits.DEFAULT),
            (feature_bits.DEFAULT, False, _WITHOUT_MAP),
            (
                feature_bits.DEFAULT | _JOURNALING,
                False,
                _WITHOUT_MAP | _JOURNALING,
            ),
            (_LAYERING | _LOCK, False, _LAYERING | _LOCK),
        ):
            made = features.with_object_map(features.from_mask(before), wanted)
            self.assertEqual(after, features.to_mask(made))

    def test_new_image_has_the_features_that_librbd_gives_it(self) -> None:
        for wanted, striped, data_pool, expected in (
            ('layering', False, False, 'layering'),
            ('layering,fast-diff', False, False, 'layering'),
            (
                'exclusive-lock,object-map',
                False,
                False,
                'exclusive-lock,fast-diff,object-map',
            ),
            ('layering', True, True, 'data-pool,layering,striping'),
            ('layering,striping,data-pool', False, False, 'layering'),
        ):
            made = features.with_implied(
                frozenset(wanted.split(',')), striped, data_pool
            )
            self.assertEqual(expected, features.joined(made))


class ParseTestCase(refusals.RefusalTestCase):
    def test_list_is_a_complete_set(self) -> None:
        for value, mask in (
            ('layering', _LAYERING),
            ('layering,layering', _LAYERING),
            (_DEFAULT, feature_bits.DEFAULT),
            (f'{_DEFAULT},journaling', feature_bits.DEFAULT | _JOURNALING),
            # librbd always adds fast-diff to object-map. It is added here, so
            # that the record matches the image.
            ('object-map,exclusive-lock,layering', _WITH_MAP),
            (' layering, exclusive-lock ,deep-flatten', _WITHOUT_MAP),
        ):
            parsed = features.parse_features(value)
            self.assertEqual(mask, features.to_mask(parsed), value)

    def test_invalid_list_is_refused(self) -> None:
        follows = 'cannot be set; it follows from the layout or the data pool'
        self.assertAllRefused(
            features.parse_features,
            'rbd:features',
            {
                "'' is not an image feature": (
                    *('', ',', 'layering,', 'layering,,deep-flatten'),
                    'layering, ',
                ),
                r"'layering\n' is not an image feature": ('layering\n',),
                "'layering exclusive-lock' is not an image feature": (
                    'layering exclusive-lock',
                ),
                "'turbo' is not an image feature": ('layering,turbo',),
                "'61' is not an image feature": ('61',),
                "'Layering' is not an image feature": ('Layering',),
                "'exclusive_lock' is not an image feature": (
                    'layering,exclusive_lock',
                ),
                "'migrating' is not an image feature": ('layering,migrating',),
                r"'layerin\uff47' is not an image feature": ('layerin\uff47',),
                f'striping {follows}': ('layering,striping',),
                f'data-pool {follows}': ('layering,data-pool',),
                'object-map requires exclusive-lock': ('layering,object-map',),
                'journaling requires exclusive-lock': ('layering,journaling',),
                # librbd silently drops fast-diff.
                'fast-diff requires object-map': (
                    'layering,fast-diff',
                    'layering,exclusive-lock,fast-diff',
                ),
                'layering is missing, which clones require': (
                    'exclusive-lock,object-map',
                    None,
                ),
            },
            _ALLOWED,
        )

    def test_every_set_of_names(self) -> None:
        names = sorted(features.CHOOSABLE)
        draw = random.Random(4)
        accepted = 0
        for length in range(1, len(names) + 1):
            for chosen in itertools.combinations(names, length):
                value = ','.join(draw.sample(chosen, length))
                if self._complete(set(chosen)):
                    accepted += 1
                    parsed = features.parse_features(value)
                    self.assertEqual(set(), set(chosen) - parsed, value)
                    self.assertEqual(
                        'object-map' in chosen, 'fast-diff' in parsed, value
                    )
                else:
                    self.assertRaises(
                        errors.OptionError,
                        features.parse_features,
                        value,
                    )
        # With layering: with the lock 2 (journaling) x 2 (deep-flatten) x 3
        # (no map, map, map and fast-diff), without it 2.
        self.assertEqual(14, accepted)

    def _complete(self, chosen: set[str]) -> bool:
        return (
            'layering' in chosen
            and ('object-map' not in chosen or 'exclusive-lock' in chosen)
            and ('journaling' not in chosen or 'exclusive-lock' in chosen)
            and ('fast-diff' not in chosen or 'object-map' in chosen)
        )

    def test_boolean_has_the_usual_words(self) -> None:
        for words, expected in (
            ('true True TRUE t yes y on 1', True),
            ('false False FALSE f no n off 0', False),
        ):
            for word in words.split():
                for value in (word, f'<is> {word}'):
                    self.assertIs(expected, features.parse_object_map(value))
            self.assertIs(expected, features.parse_object_map(expected))
        self.assertAllRefused(
            features.parse_object_map,
            'rbd:object_map',
            {
                'not a boolean': (
                    *('', '<is> ', '<is>True', '<is> <is> True', '<IS> True'),
                    *('<in> True', '<is>  True', ' true', 'true\n', 'maybe'),
                    *('2', '-1', 'None', '\u0661', '\uff11', 'true' * 100),
                    '\uff54\uff52\uff55\uff45',
                )
            },
            "true, false or '<is> True'",
        )
