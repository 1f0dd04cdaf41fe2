# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterator
import contextlib
from typing import Any

import ddt

from rbd_volume_options import image_handles
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import feature_bits
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base

_LAYERING = feature_bits.LAYERING
_LOCK = feature_bits.LOCK
_MAP = feature_bits.OBJECT_MAP
_DEFAULT = feature_bits.DEFAULT
_WITH_MAP = _LAYERING | _LOCK | feature_bits.MAP


class ImagesTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes', 'data')
        client = self.cluster.rados.Rados()
        client.connect()
        self.pool_name = client.pool_reverse_lookup
        self.ioctx = client.open_ioctx('volumes')
        self.module = fake_librbd.Librbd(self.cluster)

    def image(self, **options: Any) -> Any:
        """Create an image and return it open."""
        self.module.RBD().create(self.ioctx, 'i', 1 << 30, **options)
        return self.module.Image(self.ioctx, 'i')

    @contextlib.contextmanager
    def at(self, snapshot: str) -> Iterator[Any]:
        """Open the image at a snapshot."""
        with self.module.Image(self.ioctx, 'i', snapshot=snapshot) as image:
            yield image


class ChangesTest(ImagesTestCase):
    def test_features_that_are_as_wanted_already_are_not_changed(self) -> None:
        image = self.image(features=_LAYERING | _LOCK)
        for mask, enabled, wanted in (
            (_WITH_MAP, True, _WITH_MAP),
            (_WITH_MAP, True, _WITH_MAP),
            (feature_bits.MAP, False, _LAYERING | _LOCK),
            (feature_bits.MAP, False, _LAYERING | _LOCK),
        ):
            image_handles.update_features(image, mask, enabled)
            self.assertEqual(wanted, image.features())


class StateTest(ImagesTestCase):
    def _state(self, image: Any) -> options.Values:
        return image_handles.state_of(image, self.pool_name)  # type: ignore[arg-type]

    def test_state_of_a_plain_image_has_no_striping(self) -> None:
        image = self.image(order=20, features=_LAYERING | _LOCK)
        self.assertEqual(
            options.image_values(
                layout.ImageLayout(1 << 20),
                frozenset({'layering', 'exclusive-lock'}),
            ),
            self._state(image),
        )

    def test_striped_with_a_data_pool(self) -> None:
        image = self.image(
            order=20,
            stripe_unit=64 << 10,
            stripe_count=8,
            features=_LAYERING,
            data_pool='data',
        )
        self.assertEqual(
            options.image_values(
                layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8)),
                frozenset({'layering', 'striping', 'data-pool'}),
                'data',
            ),
            self._state(image),
        )

    def test_bits_of_librbd_itself(self) -> None:
        """librbd enables a feature by itself for clones."""
        image = self.image(features=_LAYERING)
        image.create_snap('s')
        self.module.RBD().clone(
            self.ioctx, 'i', 's', self.ioctx, 'clone', features=_LAYERING
        )
        self.assertNotEqual(_LAYERING, image.features())
        self.assertEqual(
            frozenset({'layering'}), self._state(image).image_features
        )


@ddt.ddt
class FeaturesTest(ImagesTestCase):
    @ddt.data(
        (_LAYERING, 'exclusive-lock object-map fast-diff', True, _WITH_MAP),
        (_LAYERING | _LOCK, 'exclusive-lock object-map', True, _WITH_MAP),
        (_DEFAULT, 'exclusive-lock object-map', True, _DEFAULT),
        (_LAYERING, '', True, _LAYERING),
        (
            *(_DEFAULT, 'object-map fast-diff', False),
            _DEFAULT & ~feature_bits.MAP,
        ),
        (_LAYERING, 'object-map fast-diff', False, _LAYERING),
        (_WITH_MAP, 'exclusive-lock object-map fast-diff', False, _LAYERING),
        (_DEFAULT, '', False, _DEFAULT),
    )
    @ddt.unpack
    def test_features_are_changed_with_their_prerequisites(
        self, has: int, names: str, enabled: bool, after: int
    ) -> None:
        image = self.image(features=has)
        wanted = frozenset(names.split())
        changed = image_handles.set_features(image, wanted, enabled)
        self.assertEqual(after, image.features())
        self.assertEqual(after != has, bool(changed))
        self.assertLessEqual(changed, wanted)


class RebuildTest(ImagesTestCase):
    def test_head_and_each_snapshot(self) -> None:
        image = self.image(features=_LAYERING | _LOCK)
        image.create_snap('before')
        image.update_features(_MAP, True)
        image.create_snap('invalid')
        image.protect_snap('invalid')
        self.assertEqual(3, image_handles.rebuild_object_maps(image, self.at))
        self.assertEqual(0, image.flags())
        for name in ('before', 'invalid'):
            with self.at(name) as at_snapshot:
                self.assertEqual(0, at_snapshot.flags())

    def test_no_map_or_a_valid_one_is_left(self) -> None:
        for features in (_DEFAULT, _LAYERING):
            image = self.image(features=features)
            image.create_snap('s')
            rebuilt = image_handles.rebuild_object_maps(image, self.at)
            self.assertEqual(0, rebuilt)
            image.remove_snap('s')
            image.close()
            self.module.RBD().remove(self.ioctx, 'i')

    def test_snapshot_in_the_trash(self) -> None:
        """A snapshot removed while it has a clone has no usable name."""
        image = self.image(features=_LAYERING | _LOCK)
        image.create_snap('s')
        self.module.RBD().clone(
            self.ioctx, 'i', 's', self.ioctx, 'clone', features=_LAYERING
        )
        image.remove_snap('s')
        self.assertEqual(1, len(list(image.list_snaps())))
        image.update_features(_MAP, True)
        self.assertEqual(1, image_handles.rebuild_object_maps(image, self.at))
        self.assertEqual(0, image.flags())
