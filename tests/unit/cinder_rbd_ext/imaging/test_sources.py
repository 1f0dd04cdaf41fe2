# SPDX-License-Identifier: Apache-2.0

import json
from typing import Any

from oslo_config import cfg

from cinder_rbd_ext.imaging import sources
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import feature_bits
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

Origin = errors.Origin
_MIB = 1 << 20
_LAYOUT = layout.ImageLayout(_MIB, layout.Striping(64 << 10, 8))
_STATE = options.image_values(
    _LAYOUT, frozenset({'layering', 'deep-flatten', 'striping'}), 'data'
)
_STOCK = options.image_values(
    layout.ImageLayout(4 * _MIB), frozenset({'layering', 'exclusive-lock'})
)


class SourcesTestCase(base.TestCase):
    def internal_tenant(self, project: str | None) -> None:
        """Set the tenant that owns cached images."""
        name = 'cinder_internal_tenant_project_id'
        cfg.CONF.set_override(name, project)
        self.addCleanup(cfg.CONF.clear_override, name)

    def features_of(
        self, state: options.Values = _STATE, **fields: Any
    ) -> set[str]:
        """Return the features that a source passes on."""
        volume = cinder_objects.volume(**fields)
        source = sources.volume_source(volume, state, 4 * _MIB)
        level = source.level
        return set(level.get(keys.FEATURES, ()))


class LevelOfVolumeTest(SourcesTestCase):
    def test_layout_and_features(self) -> None:
        volume = cinder_objects.volume()
        source = sources.volume_source(volume, _STATE, 4 * _MIB)
        level = source.level
        self.assertEqual(Origin.SOURCE_VOLUME, source.origin)
        self.assertEqual(_MIB, level[keys.OBJECT_SIZE])
        self.assertEqual(_LAYOUT.striping, level[keys.STRIPING])
        self.assertIsNone(level.data_pool)
        self.assertEqual(
            {'layering', 'deep-flatten'},
            set(level.get(keys.FEATURES, ())),
        )

    def test_what_multiattach_took_comes_back(self) -> None:
        """Other saved features are not restored."""
        saved = json.dumps(
            {
                'saved_features': feature_bits.LAYERING
                | feature_bits.LOCK
                | feature_bits.MAP
                | feature_bits.JOURNALING
                | feature_bits.DATA_POOL
            }
        )
        self.assertEqual(
            {
                'layering',
                'deep-flatten',
                'exclusive-lock',
                'object-map',
                'fast-diff',
                'journaling',
            },
            self.features_of(provider_location=saved),
        )

    def test_journaling_of_an_operator_stays_behind(self) -> None:
        """It belongs to the mirroring of one image."""
        mirrored = _STATE.image_features | {'exclusive-lock', 'journaling'}
        state = options.image_values(_LAYOUT, mirrored)
        for recorded, is_own in (
            (_STATE.image_features, False),
            (mirrored, True),
        ):
            made = image_record.Record(options.image_values(_LAYOUT, recorded))
            volume = cinder_objects.volume()
            volume.provider_id = made.text(volume.name_id)
            source = sources.volume_source(volume, state, 4 * _MIB)
            features = source.level.get(keys.FEATURES, ())
            self.assertEqual(is_own, 'journaling' in features)

    def test_what_replication_added_stays_behind(self) -> None:
        state = options.image_values(
            _LAYOUT, frozenset({'layering', 'exclusive-lock', 'journaling'})
        )
        for had_lock in (True, False):
            for had_journal in (True, False):
                data = json.dumps(
                    {
                        'had_exclusive_lock': had_lock,
                        'had_journaling': had_journal,
                    }
                )
                wanted = {'layering'}
                wanted |= {'exclusive-lock'} if had_lock else set()
                wanted |= {'journaling'} if had_journal else set()
                self.assertEqual(
                    wanted,
                    self.features_of(state, replication_driver_data=data),
                )

    def test_fields_that_others_fill(self) -> None:
        for text in ('', 'not json', '[1]', '{}', '{"saved_features": "x"}'):
            self.assertEqual(
                {'layering', 'deep-flatten'},
                self.features_of(
                    provider_location=text, replication_driver_data=text
                ),
            )


class CachedImageTest(SourcesTestCase):
    def test_of_the_internal_tenant(self) -> None:
        volume = cinder_objects.volume(project_id='internal')
        self.internal_tenant('internal')
        self.assertTrue(sources.is_cached_image(volume))
        self.assertFalse(sources.is_cached_image(cinder_objects.volume()))

    def test_without_an_internal_tenant(self) -> None:
        """An unset internal tenant matches no volume."""
        self.internal_tenant(None)
        self.assertFalse(sources.is_cached_image(cinder_objects.volume()))
        self.assertFalse(
            sources.is_cached_image(cinder_objects.volume(project_id=None))
        )

    def test_stands_for_an_image_without_a_layout(self) -> None:
        self.internal_tenant('internal')
        volume = cinder_objects.volume(project_id='internal')
        source = sources.volume_source(volume, _STATE, 8 * _MIB)
        self.assertEqual(
            inheritance.glance_source(
                options.image_values(
                    layout.ImageLayout(8 * _MIB), frozenset()
                ),
                1,
            ),
            source,
        )
