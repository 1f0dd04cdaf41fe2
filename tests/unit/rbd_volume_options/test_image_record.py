# SPDX-License-Identifier: Apache-2.0

import dataclasses
import types
from typing import Any
import uuid

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import volume_items
from rbd_volume_options.families import data_pool
from tests.unit import base
from tests.unit import untrusted

_IMAGE = str(uuid.UUID(int=1))
_ITEMS = (
    volume_items.RECORD_CONFIGURING,
    f'{volume_items.RECORD_BEFORE_RESTORE}x',
)
_STRIPED = image_record.Record(
    options.image_values(
        layout.ImageLayout(1 << 20, layout.Striping(4096, 8)),
        frozenset({'layering', 'striping', 'data-pool'}),
        'ec',
    ).with_origins(
        {
            keys.OBJECT_SIZE: errors.Origin.VOLUME_METADATA,
            keys.STRIPING: errors.Origin.VOLUME_TYPE,
            keys.FEATURES: errors.Origin.CLUSTER,
        }
    ),
    'host@ceph',
)
_PLAIN = image_record.Record(
    options.image_values(layout.ImageLayout(1 << 22), frozenset())
)
_LONGEST = image_record.Record(
    options.image_values(
        layout.ImageLayout(
            layout.MAX_OBJECT_SIZE,
            layout.Striping(layout.MAX_OBJECT_SIZE, layout.MAX_STRIPE_COUNT),
        ),
        frozenset(features.FEATURES),
        data_pool.parse_pool('p' * 128),
    ).with_origins(dict.fromkeys(options.PARTS, errors.Origin.GLANCE_IMAGE)),
    f'{"h" * 200}@a-section-of-twenty',
)


def _volume(text: str | None, host: str = 'host@ceph#pool') -> Any:
    return types.SimpleNamespace(
        name_id=_IMAGE,
        provider_id=text,
        host=host,
        cluster_name=None,
        admin_metadata={},
        replication_extended_status=None,
    )


@ddt.ddt
class RecordTest(base.TestCase):
    def test_record_is_read_as_it_was_written(self) -> None:
        for written in (_STRIPED, _PLAIN):
            text = written.text(_IMAGE)
            self.assertEqual(written, image_record.parse(text, _IMAGE))

    def test_text_of_a_record_names_the_image_and_is_readable(self) -> None:
        # Volumes of earlier releases have it.
        self.assertEqual(
            f'{_IMAGE} [1,1048576,4096,8,131,"mtc","host@ceph","ec"]',
            _STRIPED.text(_IMAGE),
        )

    def test_record_of_another_image_does_not_count(self) -> None:
        text = _STRIPED.text(str(uuid.UUID(int=2)))
        self.assertIsNone(image_record.parse(text, _IMAGE))
        self.assertIsNone(image_record.state_here(_volume(text)))
        self.assertIsNone(image_record.origins(_volume(text)))
        self.assertFalse(image_record.layout_requested(_volume(text)))

    @ddt.data('host@section', f'{"h" * 200}@section', f'h@{"s" * 200}')
    def test_longest_values_fit_and_tell_back_ends_apart(
        self, backend: str
    ) -> None:
        written = dataclasses.replace(_LONGEST, backend=backend)
        text = written.text(_IMAGE)
        self.assertLessEqual(len(text), 255)
        read = image_record.parse(text, _IMAGE)
        if read is None:
            self.fail(text)
        self.assertEqual(written, dataclasses.replace(read, backend=backend))
        section = backend.rpartition('@')[2]
        self.assertTrue(image_record.is_same_back_end(read.backend, backend))
        for other, is_same in (
            (backend, True),
            (f'other@{section}', True),
            (f'{backend}2', False),
            ('', False),
        ):
            self.assertEqual(
                is_same, image_record.is_same_section(read.backend, other)
            )
        for other in (f'other@{section}', f'{backend}2', ''):
            self.assertFalse(
                image_record.is_same_back_end(read.backend, other)
            )

    def test_data_pool_that_does_not_fit_is_refused(self) -> None:
        """Only ceph.conf can set one; keys and options are shorter."""
        state = options.image_values(
            _PLAIN.state.layout, frozenset(), 'p' * 255
        )
        error = self.assertRaises(
            errors.OptionError, image_record.Record(state).text, _IMAGE
        )
        self.assertIn('up to 128 letters', str(error))

    def test_part_without_an_origin_counts_as_requested(self) -> None:
        only = {keys.FEATURES: errors.Origin.CLUSTER}
        record = image_record.Record(_PLAIN.state.with_origins(only))
        volume = _volume(record.text(_IMAGE))
        self.assertTrue(image_record.layout_requested(volume))
        self.assertFalse(image_record.features_requested(volume))

    @ddt.data(
        *(None, '', 'x', _IMAGE, f'{_IMAGE} ', f'{_IMAGE} {{}}'),
        *(f'{_IMAGE} []', f'{_IMAGE} [2,1,1,1,1,"","",""]'),
        *(f'{_IMAGE} [1,0,1,1,1,"","",""]', f'{_IMAGE} [1,1,-1,1,1,"","",""]'),
        *(f'{_IMAGE} [1,1,1,"1",1,"","",""]', f'{_IMAGE} [1,1,1,1,1,1,1]'),
        f'{_IMAGE} [1,1,1,true,1,"","",""]',
    )
    def test_text_of_another_driver_is_no_record(self, text: str) -> None:
        self.assertIsNone(image_record.parse(text, _IMAGE))
        self.assertFalse(image_record.is_record(text))

    @hypothesis.given(
        untrusted.TEXTS
        | strategies.lists(
            strategies.integers() | untrusted.TEXTS, min_size=8, max_size=8
        ).map(str),
        strategies.dictionaries(
            strategies.sampled_from([*registry.OPTIONS, *_ITEMS]),
            untrusted.TEXTS,
        ),
    )
    def test_any_text_is_a_usable_record_or_none(
        self, text: str, items: dict[str, str]
    ) -> None:
        volume = _volume(f'{_IMAGE} {text}')
        volume.admin_metadata = items
        volume.replication_extended_status = f'rbd {text}'
        state = image_record.state_here(volume)
        if state is not None:
            self.assertGreaterEqual(state.layout.object_count(1), 1)

    def test_features_are_shown_as_sorted_names(self) -> None:
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
                options.image_values(image_layout, names).by_option()
            ),
        )
