# SPDX-License-Identifier: Apache-2.0

"""Layout, features, data pool and record in each creation path.

The same tests run on real Ceph and on the fake cluster of the unit tests.
"""

import json
from typing import Any

import ddt

from rbd_volume_options import image_record
from rbd_volume_options import keys
from tests import feature_bits
from tests import runs
from tests.functional.cinder_rbd_ext import creation_paths

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_ASKED = {
    keys.OBJECT_SIZE: '1M',
    keys.STRIPE_UNIT: '64K',
    keys.STRIPE_COUNT: '8',
}
#: The object size, stripe unit and stripe count.
_MADE = (_MIB, 64 * _KIB, 8)
# The source has a unique layout.
_SOURCE = {
    'rbd:object_size': '8M',
    'rbd:stripe_unit': '32K',
    'rbd:stripe_count': '4',
    'rbd:features': 'layering,exclusive-lock',
}
_OF_SOURCE = (8 * _MIB, 32 * _KIB, 4)

# The other path with a LUKS header is tested with metadata and as multi-attach
# volume. Other requests reach it as the same plan.
_PLAIN = tuple(
    each
    for each in creation_paths.ALL
    if each is not creation_paths.CreateEncrypted
)
_INHERITING = tuple(each for each in creation_paths.ALL if each.inherits)


@ddt.ddt
class CreationBehaviour:
    """Tests that apply to each path.

    :cvar data_pool: the name of a pool for data
    """

    data_pool: str

    def create(
        self: Any, way: type[creation_paths.Path], **kwargs: Any
    ) -> Any:
        """Create a volume; return it."""
        path = way(self, **kwargs)
        update = path.make()
        self.update(path.volume, update)
        self.check_content(path)
        size, wanted = self.size_of(path.volume), path.size * _GIB
        if isinstance(path, creation_paths.CreateEncrypted):
            # On Ceph, a LUKS header is added.
            self.assertLess(size, wanted + 4 * _MIB)
        else:
            self.assertEqual(wanted, size)
        return path.volume

    def _layout(self: Any, volume: Any) -> tuple[int, ...]:
        with self.opened(volume.name) as image:
            return (
                image.stat()['obj_size'],
                image.stripe_unit(),
                image.stripe_count(),
            )

    def _features(self: Any, volume: Any) -> int:
        with self.opened(volume.name) as image:
            return int(image.features()) & feature_bits.FEATURES

    @runs.nightly_after(8)
    @ddt.data(*creation_paths.ALL)
    def test_image_is_as_requested_and_recorded(
        self: Any, way: type[creation_paths.Path]
    ) -> None:
        volume = self.create(
            way,
            metadata=_ASKED,
            volume_type=self.make_type(
                rbd_features='layering,exclusive-lock',
                rbd_data_pool=self.data_pool,
            ),
        )
        self.assertEqual(_MADE, self._layout(volume))
        self.assertEqual(
            feature_bits.LAYERING
            | feature_bits.LOCK
            | feature_bits.STRIPING
            | feature_bits.DATA_POOL,
            self._features(volume),
        )
        self.assertEqual(
            {
                keys.OBJECT_SIZE: '1048576',
                keys.STRIPE_UNIT: '65536',
                keys.STRIPE_COUNT: '8',
                keys.FEATURES: 'data-pool,exclusive-lock,layering,striping',
                keys.DATA_POOL: self.data_pool,
                'rbd:origins': (
                    'object_size=volume_metadata,striping=volume_metadata,'
                    'features=volume_type'
                ),
                'rbd:recorded_by': image_record.backend_of(volume),
            },
            self.recorded(volume),
        )
        volume.refresh()
        self.assertEqual(_ASKED, volume.metadata)

    @runs.nightly_after(2)
    @ddt.data(*creation_paths.ALL)
    def test_multiattach_volume_has_no_single_client_features(
        self: Any, way: type[creation_paths.Path]
    ) -> None:
        """The stock driver skips some kinds."""
        volume = self.create(
            way, volume_type=self.make_type(multiattach='<is> True')
        )
        shared = feature_bits.LAYERING | feature_bits.DEEP_FLATTEN
        self.assertEqual(shared, self._features(volume))
        # Neither of Cinder's flows saves these of a Glance image.
        if volume.provider_location and 'saved' in volume.provider_location:
            saved = json.loads(volume.provider_location)
            self.assertEqual(
                feature_bits.DEFAULT,
                saved['saved_features'] & feature_bits.FEATURES,
            )

    @runs.nightly_after(1)
    @ddt.data(*(each for each in _PLAIN if not each.inherits))
    def test_back_end_has_the_defaults(
        self: Any, way: type[creation_paths.Path]
    ) -> None:
        self.driver = self.make_driver(
            rbd_volume_object_size='512K',
            rbd_volume_stripe_unit='16K',
            rbd_volume_stripe_count='2',
            rbd_volume_object_map='false',
        )
        volume = self.create(way)
        self.assertEqual((512 * _KIB, 16 * _KIB, 2), self._layout(volume))
        self.assertEqual(0, self._features(volume) & feature_bits.MAP)

    @runs.nightly_after(4)
    @ddt.data(*_INHERITING)
    def test_unset_values_are_those_of_the_source(
        self: Any, way: type[creation_paths.Path]
    ) -> None:
        driver = self.make_driver(
            rbd_volume_object_size='512K', rbd_volume_object_map='true'
        )
        volume = self.create(way, driver=driver, source_metadata=_SOURCE)
        self.assertEqual(_OF_SOURCE, self._layout(volume))
        self.assertEqual(
            feature_bits.LAYERING | feature_bits.LOCK | feature_bits.STRIPING,
            self._features(volume),
        )

    @runs.nightly_after(1)
    @ddt.data(*_PLAIN)
    def test_part_of_the_layout(
        self: Any, way: type[creation_paths.Path]
    ) -> None:
        """Only an object size is requested: the path sets the rest."""
        volume = self.create(
            way,
            metadata={keys.OBJECT_SIZE: '16M'},
            source_metadata=_SOURCE,
        )
        rest = _OF_SOURCE[1:] if way.inherits else (16 * _MIB, 1)
        self.assertEqual((16 * _MIB, *rest), self._layout(volume))

    @ddt.data(
        creation_paths.CloneVolume,
        creation_paths.CloneFromSnapshot,
        creation_paths.FullCopy,
        creation_paths.CloneGlanceImage,
    )
    def test_what_overrides_the_cache_mode_is_not_inherited(
        self: Any, way: type[creation_paths.Path]
    ) -> None:
        path = way(self)
        pool, name = 'images', 'glance'
        if path.inherits:
            pool, name = 'volumes', path.source.name  # type: ignore[attr-defined]
        with self.opened(name, pool, read_only=False) as image:
            image.metadata_set('conf_rbd_cache', 'false')
        self.update(path.volume, path.make())
        with self.opened(path.volume.name) as image:
            self.assertEqual({}, dict(image.metadata_list()))
