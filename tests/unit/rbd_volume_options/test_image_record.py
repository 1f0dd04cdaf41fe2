# SPDX-License-Identifier: Apache-2.0

import hypothesis
from hypothesis import strategies

from rbd_volume_options import image_record
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import registry
from rbd_volume_options import wire
from tests.unit import base
from tests.unit import untrusted

_FEATURES = frozenset({'layering', 'striping', 'data-pool'})
_WRITTEN = image_record.as_texts(
    plan.ImageState(layout.ImageLayout(1 << 22), frozenset()).values()
)
_RECORDS = (
    *(wire.RECORD_RECORDED_BY, wire.RECORD_ORIGINS),
    *(wire.RECORD_CONFIGURING, f'{wire.RECORD_BEFORE_RESTORE}x'),
)


class ReadTest(base.TestCase):
    """Tests for reading the state of an image from admin metadata."""

    def test_as_it_was_written(self) -> None:
        for state in (
            plan.ImageState(
                layout.ImageLayout(1 << 20, layout.Striping(4096, 8)),
                _FEATURES,
                'ec',
            ),
            plan.ImageState(layout.ImageLayout(1 << 22), frozenset()),
        ):
            written = {
                **image_record.as_texts(state.values()),
                'readonly': 'False',
            }
            self.assertEqual(state, image_record.read(written))

    @hypothesis.given(
        strategies.dictionaries(
            strategies.sampled_from([*registry.OPTIONS, *_RECORDS]),
            untrusted.TEXTS
            | strategies.sampled_from(('0', '1', '-1', '65536', '\u0664')),
        )
    )
    @hypothesis.example({**_WRITTEN, 'rbd:object_size': '0'})
    @hypothesis.example({**_WRITTEN, 'rbd:stripe_count': '0'})
    @hypothesis.example({**_WRITTEN, 'rbd:stripe_unit': '-4096'})
    def test_any_record_is_that_of_an_image_or_none(
        self, recorded: dict[str, str]
    ) -> None:
        state = image_record.of_backend('a@b', recorded)
        image_record.origins(recorded)
        image_record.families_set(recorded)
        image_record.before_restore(recorded)
        if state is None:
            return
        self.assertGreaterEqual(state.layout.object_count(1), 1)
        self.assertEqual(
            state, image_record.read(image_record.as_texts(state.values()))
        )

    def test_no_record(self) -> None:
        state = plan.ImageState(layout.ImageLayout(1 << 22), _FEATURES)
        written = image_record.as_texts(state.values())
        for key in ('rbd:object_size', 'rbd:stripe_unit', 'rbd:features'):
            rest = {k: v for k, v in written.items() if k != key}
            self.assertIsNone(image_record.read(rest))
        self.assertIsNone(
            image_record.read({**written, 'rbd:stripe_unit': 'x'})
        )
        self.assertIsNone(image_record.read({}))

    def test_features_are_recorded_as_sorted_names(self) -> None:
        image_layout = layout.ImageLayout(1 << 22)
        names = frozenset({'layering', 'exclusive-lock'})
        self.assertEqual(
            {
                'rbd:object_size': '4194304',
                'rbd:stripe_unit': '4194304',
                'rbd:stripe_count': '1',
                'rbd:features': 'exclusive-lock,layering',
            },
            image_record.as_texts(
                plan.ImageState(image_layout, names).values()
            ),
        )


class RestoreTest(base.TestCase):
    def test_keys_of_a_volume_are_recorded_before_a_restore(self) -> None:
        own = {'rbd:cache_mode': 'none', 'rbd:object_size': '4M'}
        recorded = image_record.of_restore(
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
        self.assertEqual(own, image_record.before_restore(recorded))
