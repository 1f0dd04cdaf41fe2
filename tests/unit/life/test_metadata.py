# SPDX-License-Identifier: Apache-2.0

import random

import ddt

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from tests.life import kinds
from tests.life import metadata
from tests.unit import base

ACCEPTED = metadata.Verdict.ACCEPTED
REFUSED = metadata.Verdict.REFUSED
EITHER = metadata.Verdict.EITHER


def _given(unit: str, count: str, size: str = '') -> dict[str, str]:
    pair = {'rbd:stripe_unit': unit, 'rbd:stripe_count': count}
    return {**pair, 'rbd:object_size': size} if size else pair


@ddt.ddt
class JudgeTestCase(base.TestCase):
    @ddt.data(
        ({}, 'plain', 1, ACCEPTED),
        ({}, 'private', 1, REFUSED),
        ({}, 'thirds', 3, ACCEPTED),
        ({}, 'thirds', 1, REFUSED),
        (_given('64K', '4'), 'plain', 1, ACCEPTED),
        (_given('64K', '4'), 'none', 1, REFUSED),
        (_given('64K', '4'), 'some', 1, REFUSED),
        (_given('64K', '4'), 'second', 1, REFUSED),
        (_given('64K', '4'), 'second-open', 1, ACCEPTED),
        (_given('64K', '8', '1M'), 'second-open', 1, REFUSED),
        (_given('64K', '8', '1M'), 'either', 1, EITHER),
        (_given('1M', '48'), 'plain', 1, REFUSED),
        (_given('1M', '48'), 'plain', 3, ACCEPTED),
        (_given('8M', '2'), 'plain', 1, REFUSED),
        (_given('4M', '1'), 'plain', 1, ACCEPTED),
        ({'rbd:stripe_unit': '64K'}, 'plain', 1, REFUSED),
        ({'RBD:stripe_count': '4'}, 'plain', 1, REFUSED),
        ({'rbd:cache_mode': 'unsafe'}, 'plain', 1, REFUSED),
        ({'rbd:cache_mode': 'unsafe'}, 'second', 1, ACCEPTED),
        ({'other': 'x'}, 'fake', 1, ACCEPTED),
        ({'rbd:object_size': '1M'}, 'fake', 1, REFUSED),
        ({'rbd:object_size': '1M'}, 'stock', 1, REFUSED),
    )
    @ddt.unpack
    def test_metadata_is_judged_by_type_and_size(
        self,
        items: dict[str, str],
        kind: str,
        size: int,
        expected: metadata.Verdict,
    ) -> None:
        of = kinds.by_name()[kind]
        self.assertEqual(expected, metadata.judge(items, of, size))

    def test_what_is_right_by_itself_is_parsed(self) -> None:
        """The rules of the test agree with those of the code."""
        plain = kinds.by_name()['plain']
        for seed in range(400):
            items = metadata.drawn(random.Random(seed))
            if any(metadata.is_misspelled(key) for key in items):
                continue
            try:
                options.parse(
                    items, keys.Scope.VOLUME, errors.Origin.VOLUME_METADATA
                )
            except errors.OptionError:
                judged = metadata.judge(items, plain, 3)
                self.assertEqual(REFUSED, judged, str(items))

    def test_misspelled_keys_are_recognised(self) -> None:
        for seed in range(50):
            key = metadata.misspelled(random.Random(seed))
            self.assertTrue(metadata.is_misspelled(key), key)
        for key in (*kinds.ALL, 'other', 'rbd', 'r\u0431d:x'):
            self.assertFalse(metadata.is_misspelled(key), key)
