# SPDX-License-Identifier: Apache-2.0

import itertools
import random

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from tests import feature_bits
from tests.unit import base
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


@ddt.ddt
class FeaturesTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        # include/rbd/features.h
        ['layering', 'layering', 1],
        ['striping', 'striping', 2],
        ['exclusive_lock', 'exclusive-lock', 4],
        ['object_map', 'object-map', 8],
        ['fast_diff', 'fast-diff', 16],
        ['deep_flatten', 'deep-flatten', 32],
        ['journaling', 'journaling', 64],
        ['data_pool', 'data-pool', 128],
    )
    def test_bits_are_those_of_librbd(self, name: str, bit: int) -> None:
        self.assertEqual(name, features.FEATURES[name].name)
        self.assertEqual(bit, features.to_mask([name]))
        self.assertEqual({name}, features.from_mask(bit))

    def test_there_are_no_others(self) -> None:
        self.assertEqual(8, len(features.FEATURES))

    def test_groups_are_those_of_librbd(self) -> None:
        # RBD_FEATURES_MUTABLE and RBD_FEATURES_SINGLE_CLIENT.
        one_client = {
            'exclusive-lock',
            'object-map',
            'fast-diff',
            'journaling',
        }
        self.assertEqual(one_client, features.MUTABLE)
        self.assertEqual(one_client, features.SINGLE_CLIENT)
        self.assertEqual(
            set(features.FEATURES) - {'striping', 'data-pool'},
            features.CHOOSABLE,
        )

    def test_prerequisites_are_those_of_librbd(self) -> None:
        self.assertEqual(
            {
                'object-map': ('exclusive-lock',),
                'fast-diff': ('object-map',),
                'journaling': ('exclusive-lock',),
            },
            {
                f.name: f.requires
                for f in features.FEATURES.values()
                if f.requires
            },
        )

    @ddt.named_data(
        ['nothing', 0, ''],
        ['librbd_default', feature_bits.DEFAULT, _DEFAULT],
        [
            'all_that_we_know',
            feature_bits.FEATURES,
            ','.join(features.FEATURES),
        ],
        [
            'states_of_librbd_are_left_out',
            feature_bits.DEFAULT | _STATES,
            _DEFAULT,
        ],
        ['unknown_bit', 1 << 40, ''],
    )
    def test_from_mask(self, mask: int, expected: str) -> None:
        self.assertEqual(
            set(expected.split(',')) - {''}, features.from_mask(mask)
        )

    def test_masks_both_ways(self) -> None:
        for mask in range(256):
            self.assertEqual(mask, features.to_mask(features.from_mask(mask)))

    def test_joined_is_sorted(self) -> None:
        self.assertEqual(
            'exclusive-lock,layering',
            features.joined({'layering', 'exclusive-lock'}),
        )
        self.assertEqual('', features.joined(()))


@ddt.ddt
class ParseFeaturesTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['the_least', 'layering', _LAYERING],
        ['librbd_default', _DEFAULT, feature_bits.DEFAULT],
        [
            'in_any_order',
            'fast-diff,object-map,exclusive-lock,layering',
            _WITH_MAP,
        ],
        ['all', f'{_DEFAULT},journaling', feature_bits.DEFAULT | _JOURNALING],
        [
            'journaling',
            'layering,exclusive-lock,journaling',
            _LAYERING | _LOCK | _JOURNALING,
        ],
        ['deep_flatten', 'layering,deep-flatten', _LAYERING | _DEEP_FLATTEN],
        # librbd always adds fast-diff to object-map. It is added here, so that
        # the record matches the image.
        [
            'fast_diff_is_added',
            'layering,exclusive-lock,object-map',
            _WITH_MAP,
        ],
        ['twice_is_once', 'layering,layering', _LAYERING],
        ['spaces', ' layering, exclusive-lock ,deep-flatten', _WITHOUT_MAP],
    )
    def test_is_a_set(self, value: str, mask: int) -> None:
        self.assertEqual(
            mask, features.to_mask(features.parse_features(value))
        )

    @ddt.named_data(
        ['empty', '', "'' is not an image feature"],
        ['comma_only', ',', "'' is not an image feature"],
        ['comma_at_the_end', 'layering,', "'' is not an image feature"],
        [
            'double_comma',
            'layering,,deep-flatten',
            "'' is not an image feature",
        ],
        [
            'space_after_the_last_comma',
            'layering, ',
            "'' is not an image feature",
        ],
        [
            'newline_after',
            'layering\n',
            r"'layering\n' is not an image feature",
        ],
        [
            'spaces_for_commas',
            'layering exclusive-lock',
            "'layering exclusive-lock' is not an image feature",
        ],
        ['unknown', 'layering,turbo', "'turbo' is not an image feature"],
        ['mask', '61', "'61' is not an image feature"],
        ['capitals', 'Layering', "'Layering' is not an image feature"],
        [
            'underscore',
            'layering,exclusive_lock',
            "'exclusive_lock' is not an image feature",
        ],
        [
            'name_of_the_c_header',
            'stripingv2',
            "'stripingv2' is not an image feature",
        ],
        [
            'state_of_librbd',
            'layering,migrating',
            "'migrating' is not an image feature",
        ],
        [
            'log_injection',
            'layering,x\n2026-01-01 ERROR y',
            r"'x\n2026-01-01 ERROR y' is not an image feature",
        ],
        [
            'fullwidth',
            'layerin\uff47',
            r"'layerin\uff47' is not an image feature",
        ],
        [
            'striping',
            'layering,striping',
            'striping cannot be set; it follows from the layout or the data '
            'pool',
        ],
        [
            'data_pool',
            'layering,data-pool',
            'data-pool cannot be set; it follows from the layout or the data '
            'pool',
        ],
        [
            'object_map_alone',
            'layering,object-map',
            'object-map requires exclusive-lock',
        ],
        [
            'journaling_alone',
            'layering,journaling',
            'journaling requires exclusive-lock',
        ],
        [
            'fast_diff_alone',
            'layering,fast-diff',
            'fast-diff requires object-map',
        ],
        [
            # librbd silently drops fast-diff.
            'fast_diff_with_the_lock_only',
            'layering,exclusive-lock,fast-diff',
            'fast-diff requires object-map',
        ],
        [
            'no_layering',
            'exclusive-lock,object-map',
            'layering is missing, which clones require',
        ],
    )
    def test_invalid_list_is_refused(self, value: str, reason: str) -> None:
        self.assertRefused(
            lambda: features.parse_features(value),
            'rbd:features',
            value,
            reason,
            _ALLOWED,
        )

    def test_none_at_all(self) -> None:
        self.assertRefused(
            lambda: features.parse_features(None),  # type: ignore[arg-type]
            'rbd:features',
            None,
            'layering is missing, which clones require',
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


@ddt.ddt
class ParseObjectMapTestCase(refusals.RefusalTestCase):
    @ddt.data(
        *('true', 'True', 'TRUE', 't', 'yes', 'y', 'on', '1'),
        *('<is> True', '<is> true', '<is> 1'),
    )
    def test_true_words_are_accepted(self, value: str) -> None:
        self.assertIs(True, features.parse_object_map(value))

    @ddt.data(
        *('false', 'False', 'FALSE', 'f', 'no', 'n', 'off', '0'),
        *('<is> False', '<is> false'),
    )
    def test_false_words_are_accepted(self, value: str) -> None:
        self.assertIs(False, features.parse_object_map(value))

    def test_boolean_of_an_option(self) -> None:
        self.assertIs(True, features.parse_object_map(True))
        self.assertIs(False, features.parse_object_map(False))

    @ddt.named_data(
        ['empty', ''],
        ['operator_without_a_value', '<is> '],
        ['operator_without_a_space', '<is>True'],
        ['operator_twice', '<is> <is> True'],
        ['operator_in_capitals', '<IS> True'],
        ['other_operator', '<in> True'],
        ['two_spaces', '<is>  True'],
        ['space_before', ' true'],
        ['newline_after', 'true\n'],
        ['maybe', 'maybe'],
        ['two', '2'],
        ['negative', '-1'],
        ['none', 'None'],
        ['arabic_indic_one', '\u0661'],
        ['fullwidth_one', '\uff11'],
        ['fullwidth_letters', '\uff54\uff52\uff55\uff45'],
        ['long', 'true' * 100],
    )
    def test_other_words_are_refused(self, value: str) -> None:
        self.assertRefused(
            lambda: features.parse_object_map(value),
            keys.OBJECT_MAP,
            value,
            'not a boolean',
            "true, false or '<is> True'",
        )


@ddt.ddt
class WithObjectMapTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['on_adds_lock_and_fast_diff', _LAYERING, True, _WITH_MAP],
        [
            'on_keeps_the_others',
            _LAYERING | _DEEP_FLATTEN | _JOURNALING,
            True,
            feature_bits.DEFAULT | _JOURNALING,
        ],
        [
            'on_again_changes_nothing',
            feature_bits.DEFAULT,
            True,
            feature_bits.DEFAULT,
        ],
        [
            'off_takes_map_and_fast_diff',
            feature_bits.DEFAULT,
            False,
            _WITHOUT_MAP,
        ],
        ['off_keeps_the_lock', _WITH_MAP, False, _LAYERING | _LOCK],
        [
            'off_keeps_journaling',
            feature_bits.DEFAULT | _JOURNALING,
            False,
            _WITHOUT_MAP | _JOURNALING,
        ],
        [
            'off_again_changes_nothing',
            _LAYERING | _LOCK,
            False,
            _LAYERING | _LOCK,
        ],
    )
    def test_with_object_map(
        self, before: int, wanted: bool, after: int
    ) -> None:
        self.assertEqual(
            after,
            features.to_mask(
                features.with_object_map(features.from_mask(before), wanted)
            ),
        )


@ddt.ddt
class OfNewImageTestCase(base.TestCase):
    @ddt.data(
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
    )
    @ddt.unpack
    def test_as_librbd_makes_it(
        self, wanted: str, striped: bool, data_pool: bool, expected: str
    ) -> None:
        made = features.with_implied(
            frozenset(wanted.split(',')), striped, data_pool
        )
        self.assertEqual(expected, features.joined(made))
