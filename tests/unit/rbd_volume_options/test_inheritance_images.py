# SPDX-License-Identifier: Apache-2.0

import json
from typing import Any

import ddt

from cinder_rbd_ext.imaging import sources
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import request
from tests import feature_bits
from tests import option_values
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


@ddt.ddt
class GlanceImageTest(base.TestCase):
    @ddt.data((1, 4, 4), (4, 4, 4), (8, 4, 8), (8, 16, 16))
    @ddt.unpack
    def test_object_size_is_at_least_the_chunk_size(
        self, image: int, chunk: int, made: int
    ) -> None:
        """The object size is at least the chunk size, as in stock Cinder."""
        state = options.image_values(
            layout.ImageLayout(image * _MIB), frozenset({'layering'}), 'data'
        )
        self.assertEqual(
            option_values.level(
                Origin.GLANCE_IMAGE,
                object_size=made * _MIB,
                striping=None,
            ),
            inheritance.glance_source(state, chunk * _MIB).level,
        )

    def test_striped_image_passes_on_its_object_size(self) -> None:
        """A striped Glance image passes on its own object size."""
        striping = layout.Striping(64 << 10, 8)
        state = options.image_values(
            layout.ImageLayout(_MIB, striping), frozenset({'layering'})
        )
        self.assertEqual(
            option_values.level(
                Origin.GLANCE_IMAGE, object_size=_MIB, striping=striping
            ),
            inheritance.glance_source(state, 4 * _MIB).level,
        )


class NewImageTest(base.TestCase):
    def _plan(
        self,
        metadata: dict[str, str],
        source: inheritance.Source | None = None,
        parent: options.Values | None = None,
        size: int = 1,
        **options: Any,
    ) -> options.Values:
        settings = cinder_objects.settings(**options)
        volume = cinder_objects.volume(metadata, size=size)
        request_of = request.read_request(volume.metadata, {}, settings)
        new = inheritance.NewImage(
            request_of,
            request_of.tenant_options,
            size << 30,
            lambda: _STOCK,
        )
        if parent and source is None:
            source = inheritance.glance_source(parent, settings.chunk_size)
        return new.plan(_STOCK, source)

    def test_nothing_asked(self) -> None:
        self.assertEqual(option_values.planned(), self._plan({}))

    def test_size_of_the_volume_counts(self) -> None:
        striped = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '3'}
        error = self.assertRaises(errors.OptionError, self._plan, striped)
        self.assertIn('1 GiB is not a multiple', error.reason)
        made = self._plan(striped, size=3)
        self.assertEqual(
            layout.ImageLayout(4 * _MIB, layout.Striping(64 << 10, 3)),
            made.layout,
        )

    def test_parent_without_levels_is_a_glance_image(self) -> None:
        made = self._plan({}, parent=_STATE)
        self.assertEqual(option_values.planned(image_layout=_LAYOUT), made)

    def test_backend_over_the_glance_image(self) -> None:
        made = self._plan({}, parent=_STATE, rbd_volume_object_size='2M')
        self.assertEqual(
            layout.ImageLayout(2 * _MIB, _LAYOUT.striping), made.layout
        )

    def test_source_over_its_own_parent(self) -> None:
        """The source takes precedence over its own parent."""
        volume = cinder_objects.volume()
        source = sources.volume_source(volume, _STATE, 4 * _MIB)
        made = self._plan({}, source, parent=_STOCK)
        self.assertEqual(
            option_values.planned(
                _LAYOUT, frozenset({'layering', 'deep-flatten'})
            ),
            made,
        )

    def _source(self, origins: dict[str, Origin]) -> inheritance.Source:
        volume = cinder_objects.volume()
        record = image_record.Record(_STATE.with_origins(origins), 'host@ceph')
        volume.provider_id = record.text(volume.id)
        return sources.volume_source(volume, _STATE, 4 * _MIB)

    def test_origins_of_what_is_inherited_are_those_of_the_source(
        self,
    ) -> None:
        source = self._source(
            {
                keys.OBJECT_SIZE: Origin.BACKEND,
                keys.STRIPING: Origin.VOLUME_TYPE,
                keys.FEATURES: Origin.VOLUME_METADATA,
            }
        )
        made = self._plan({'rbd:object_size': '2M'}, source, parent=_STATE)
        self.assertEqual(
            {
                keys.OBJECT_SIZE: Origin.VOLUME_METADATA,
                keys.STRIPING: Origin.VOLUME_TYPE,
                keys.FEATURES: Origin.VOLUME_METADATA,
            },
            made.origins,
        )

    def test_what_may_not_be_inherited(self) -> None:
        source = self._source({keys.OBJECT_SIZE: Origin.VOLUME_TYPE})
        made = self._plan({}, source, parent=_STATE, rbd_tenant_options='')
        self.assertEqual(
            option_values.planned(_STOCK.layout, _STOCK.image_features), made
        )


class PlanRemadeTest(base.TestCase):
    def test_as_it_was(self) -> None:
        how = inheritance.plan_remade(cinder_objects.volume(), _STATE)
        self.assertEqual(
            option_values.planned(_LAYOUT, _STATE.image_features, 'data'), how
        )

    def test_what_multiattach_took_comes_back(self) -> None:
        """Restore features that stock disabled for multi-attach."""
        volume = cinder_objects.volume(
            provider_location=json.dumps(
                {'saved_features': feature_bits.LAYERING | feature_bits.LOCK}
            )
        )
        how = inheritance.plan_remade(volume, _STATE)
        self.assertIn('exclusive-lock', how.image_features)
