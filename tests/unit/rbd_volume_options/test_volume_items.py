# SPDX-License-Identifier: Apache-2.0

import hypothesis
from hypothesis import strategies

from rbd_volume_options import registry
from rbd_volume_options import volume_items
from tests.unit import base
from tests.unit import untrusted

_NAMES = (
    *(volume_items.RECORD_CONFIGURING, 'rbd:qos_iops_limit'),
    f'{volume_items.RECORD_BEFORE_RESTORE}x',
)


class EditedItemsTest(base.TestCase):
    @hypothesis.given(
        strategies.dictionaries(
            strategies.sampled_from([*registry.OPTIONS, *_NAMES]),
            untrusted.TEXTS,
        )
    )
    def test_any_items_can_be_read(self, items: dict[str, str]) -> None:
        volume_items.families_set(items)
        volume_items.before_restore(items)
        volume_items.qos_limits(items)


class RestoreTest(base.TestCase):
    def test_keys_of_a_volume_are_recorded_before_a_restore(self) -> None:
        own = {'rbd:cache_mode': 'none', 'rbd:object_size': '4M'}
        recorded = volume_items.saved_for_restore(
            {**own, 'rbd:unknown': 'x', 'purpose': 'y'}
        )
        self.assertEqual(
            {
                'rbd:before_restore:cache_mode': 'none',
                'rbd:before_restore:object_size': '4M',
                'rbd:restoring': 'True',
            },
            recorded,
        )
        recorded['rbd:object_size'] = '8388608'
        self.assertEqual(own, volume_items.before_restore(recorded))
