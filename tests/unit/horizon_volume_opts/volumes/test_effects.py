# SPDX-License-Identifier: Apache-2.0

"""What a volume type does to an image, as far as it is known."""

from typing import Any

import ddt

from horizon_volume_opts import offers
from horizon_volume_opts.volumes import effects
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit import base
from tests.unit.horizon_volume_opts import fake_cloud

_BY_TYPE = {'default_from': 'volume type'}
_KEPT = 'it keeps its layout'
_MIGRATION = 'uses another back end, the volume must be migrated'
_CONVERSION = 'its data is copied'


@ddt.ddt
class EffectsTestCase(base.TestCase):
    def effects(
        self,
        changes: dict[str, Any] | None = None,
        kept: tuple[str, ...] = (),
        is_changed: bool = False,
    ) -> str:
        """Return the sentences for a type that sets nothing but changes."""
        offered = {'object_map': {'default': None}, **(changes or {})}
        offer = offers.UserOffer.of(fake_cloud.offered('t', **offered))
        self.assertFalse(offer.is_invalid)
        state = options.image_values(
            layout.ImageLayout(2**22),
            frozenset({'layering', 'exclusive-lock', 'striping'}),
        )
        texts = effects.on_image(state, offer, kept, is_changed)
        return ' '.join(map(str, texts))

    def test_nothing_changes(self) -> None:
        text = self.effects()
        self.assertIn(_KEPT, text)
        self.assertIn(_MIGRATION, text)

    def test_options_that_the_type_sets_are_named(self) -> None:
        changes = {
            'discard': {'default': True, **_BY_TYPE},
            'detect_zeroes': {'default': 'unmap', **_BY_TYPE},
            'compression_hint': {'default': 'compressible'},
            # The limits are shown in another sentence.
            'iops_limit': {'default': 500, **_BY_TYPE},
        }
        offer = offers.UserOffer.of(fake_cloud.offered('t', **changes))
        (text,) = effects.on_options(offer, ['rbd:discard'])
        self.assertIn('Detect zeroes: unmap.', str(text))
        for words in ('Yes', 'compressible', '500'):
            self.assertNotIn(words, str(text))
        offer = offers.UserOffer.of(fake_cloud.offered('t'))
        self.assertEqual([], list(effects.on_options(offer, [])))

    def test_removed_keys_are_a_change(self) -> None:
        text = self.effects(is_changed=True)
        self.assertNotIn(_KEPT, text)
        self.assertIn(_MIGRATION, text)

    @ddt.data(
        ('object_size', {'default': 2**20}, '→ 1\xa0MiB'),
        ('data_pool', {'default': 'fast'}, 'another data pool'),
        (
            'features',
            {'default': ['deep-flatten', 'exclusive-lock', 'layering']},
            'adds these image features: deep-flatten',
        ),
    )
    @ddt.unpack
    def test_needs_another_image(
        self, key: str, change: dict[str, Any], words: str
    ) -> None:
        text = self.effects({key: {**change, **_BY_TYPE}})
        self.assertIn(words, text)
        self.assertIn(_CONVERSION, text)
        self.assertNotIn(_KEPT, text)

    @ddt.data(
        (
            'object_map',
            {'default': True},
            'adds these image features: fast-diff, object-map.',
        ),
        (
            'features',
            {'default': ['layering']},
            'removes these image features: exclusive-lock.',
        ),
    )
    @ddt.unpack
    def test_changes_the_image(
        self, key: str, change: dict[str, Any], words: str
    ) -> None:
        change = {key: {**change, **_BY_TYPE}}
        text = self.effects(change)
        self.assertIn(words, text)
        self.assertNotIn(_KEPT, text)
        self.assertNotIn(_CONVERSION, text)
        self.assertIn(_MIGRATION, text)
        # A key of the volume overrides its type.
        self.assertNotIn(words, self.effects(change, (f'rbd:{key}',)))

    def test_what_a_back_end_sets_is_not_known_here(self) -> None:
        by_backend = {'default': 2**20, 'default_from': 'backend'}
        self.assertIn(_KEPT, self.effects({'object_size': by_backend}))

    def test_without_an_image(self) -> None:
        offer = offers.UserOffer.of(fake_cloud.offered('t'))
        (text,) = effects.on_image(None, offer, (), False)
        self.assertIn(_MIGRATION, str(text))

    def test_of_another_driver(self) -> None:
        offer = offers.UserOffer.of(fake_cloud.not_offered('lvm'))
        state = options.image_values(layout.ImageLayout(2**22), frozenset())
        (text,) = effects.on_image(state, offer, (), False)
        self.assertIn(_MIGRATION, str(text))
