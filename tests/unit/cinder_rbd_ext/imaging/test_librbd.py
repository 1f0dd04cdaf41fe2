# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

import ddt
import fixtures

from cinder_rbd_ext.imaging import creations
from rbd_volume_options import image_handles
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import feature_bits
from tests import option_values
from tests.fakes import fake_images
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit.cinder_rbd_ext import librbd_case


class ModuleTest(librbd_case.LibrbdTestCase):
    def test_all_else_is_the_real_module(self) -> None:
        self.assertIs(self.fake.ImageBusy, self.module.ImageBusy)
        self.assertEqual(1, self.module.RBD_FEATURE_LAYERING)
        self.assertEqual([], self.module.RBD().list(self.ioctx))
        self.parent()
        with self.module.Image(self.ioctx, 'parent', read_only=True) as image:
            self.assertEqual(1 << 30, image.size())
        self.assertEqual([], self.cluster.open_images)

    def test_name_with_which_the_binding_ends_the_process_is_not_found(
        self,
    ) -> None:
        """An administrator can name any image to manage."""
        self.parent()
        opened = self.useFixture(
            fixtures.MockPatchObject(self.fake, 'Image', autospec=True)
        ).mock
        for name, how in (
            ('\ud800', {}),
            (5, {}),
            ('parent', {'snapshot': '\ud800'}),
        ):
            self.assertRaises(
                self.fake.ImageNotFound,
                self.module.Image,
                self.ioctx,
                name,
                **how,
            )
        opened.assert_not_called()

    def test_default_striping(self) -> None:
        self.assertIsNone(self.module.default_striping(self.ioctx))
        config = self.cluster.pools['volumes'].config
        config['rbd_default_stripe_unit'] = '65536'
        self.assertIsNone(self.module.default_striping(self.ioctx))
        config['rbd_default_stripe_count'] = '4'
        self.assertEqual(
            layout.Striping(65536, 4),
            self.module.default_striping(self.ioctx),
        )

    def test_read_parent(self) -> None:
        """Read a parent without its data pool, which is not inherited."""
        self.parent(data_pool='data', order=20)
        state = options.image_values(
            layout.ImageLayout(1 << 20), frozenset({'layering', 'data-pool'})
        )
        self.assertEqual(
            creations.Parent(state, has_configuration=False),
            self.module.read_parent(self.ioctx, 'parent'),
        )
        self.cluster.stored('parent').metadata['conf_rbd_cache'] = 'false'
        parent = self.module.read_parent(self.ioctx, 'parent')
        self.assertTrue(parent.has_configuration)
        self.assertEqual([], self.cluster.open_images)

    def test_is_there(self) -> None:
        self.assertFalse(self.module.is_there(self.ioctx, 'parent'))
        self.parent()
        self.assertTrue(self.module.is_there(self.ioctx, 'parent'))

    def test_is_there_on_a_cluster_that_is_down(self) -> None:
        down = fake_rados.OSError(110)
        with mock.patch.object(
            fake_rados.Ioctx, 'stat', autospec=True, side_effect=down
        ):
            error = self.assertRaises(
                fake_rados.OSError, self.module.is_there, self.ioctx, 'image'
            )
        self.assertIs(down, error)

    def test_discard_ignores_a_missing_image(self) -> None:
        self.fake.RBD().create(self.ioctx, 'i', 1)
        self.module.discard(self.ioctx, 'i')
        self.assertEqual([], self.cluster.names())
        self.module.discard(self.ioctx, 'i')

    def test_discard_what_can_not_go(self) -> None:
        self.parent()
        self.module.discard(self.ioctx, 'parent')
        self.assertIn('the incomplete image parent', self.log.output)


class CreateTest(librbd_case.LibrbdTestCase):
    def test_of_nobody(self) -> None:
        """Other code, such as Cinder's backup driver, also creates images."""
        with self.creations.hold(self.creation):
            self.module.RBD().create(
                self.ioctx,
                'other',
                7,
                23,
                old_format=False,
                features=feature_bits.LAYERING,
            )
        self.assertEqual(
            (23, 1 << 23, 1, feature_bits.LAYERING), self.numbers('other')
        )
        self.assertFalse(self.creation.made)

    def test_as_planned(self) -> None:
        with self.creations.hold(self.creation):
            self.module.RBD().create(
                self.ioctx,
                'new',
                7,
                22,
                old_format=False,
                features=feature_bits.DEFAULT,
            )
        self.assertEqual(librbd_case.NUMBERS, self.numbers('new'))
        self.assertEqual(7, self.cluster.stored('new').size)
        self.assertTrue(self.creation.made)
        ((planned, parent),) = self.asked
        self.assertEqual(layout.ImageLayout(4 << 20), planned.layout)
        self.assertIn('deep-flatten', planned.image_features)
        self.assertIsNone(parent)

    def test_as_stock(self) -> None:
        self.how = option_values.planned()
        with self.creations.hold(self.creation):
            self.module.RBD().create(
                self.ioctx, 'new', 7, 23, features=feature_bits.LAYERING
            )
        self.assertEqual(
            (23, 1 << 23, 1, feature_bits.LAYERING), self.numbers('new')
        )

    def test_default_striping_where_it_counts(self) -> None:
        config = self.cluster.pools['volumes'].config
        config['rbd_default_stripe_unit'] = '65536'
        config['rbd_default_stripe_count'] = '4'
        for needed, striping in ((False, None), (True, (65536, 4))):
            self.creation.needs_default_striping = needed
            with self.creations.hold(self.creation):
                self.module.RBD().create(self.ioctx, 'new', 7, 22)
            planned = self.asked.pop()[0].layout
            self.assertEqual(
                layout.Striping(*striping) if striping else None,
                planned.striping,
            )
            self.fake.RBD().remove(self.ioctx, 'new')

    def test_failed_creation_is_recorded(self) -> None:
        self.cluster.fail('RBD.create', self.fault)
        with self.creations.hold(self.creation):
            self.assertRaises(
                fake_images.OSError,
                self.module.RBD().create,
                self.ioctx,
                'new',
                7,
            )
        self.assertIs(self.fault, self.creation.failure)
        # librbd may have created the image, completely or in part.
        self.assertTrue(self.creation.made)


@ddt.ddt
class StateOfNewTest(librbd_case.LibrbdTestCase):
    """The state that is recorded without opening the new image."""

    def _created(self, **how: Any) -> options.Values | None:
        self.how = option_values.planned(**how)
        with self.creations.hold(self.creation):
            self.module.RBD().create(
                self.ioctx, 'new', 7, 23, features=feature_bits.DEFAULT
            )
        return self.creation.state

    @ddt.data(
        {},
        {'data_pool': 'data'},
        {'data_pool': 'volumes'},
        {'image_layout': librbd_case.STRIPED},
        {'image_features': frozenset({'layering', 'fast-diff'})},
        {
            'image_features': frozenset(
                {'layering', 'exclusive-lock', 'object-map'}
            )
        },
    )
    def test_what_the_image_has(self, how: dict[str, Any]) -> None:
        created = self._created(**how)
        with self.module.Image(self.ioctx, 'new') as image:
            state = image_handles.state_of(
                image, lambda pool: str(self.client.pool_reverse_lookup(pool))
            )
        self.assertEqual(state, created)

    @ddt.data(
        (
            {
                'rbd_default_stripe_unit': '65536',
                'rbd_default_stripe_count': '4',
            }
        ),
        ({'rbd_default_data_pool': 'data'}),
    )
    def test_unknown_where_the_pool_decides(
        self, config: dict[str, str]
    ) -> None:
        self.cluster.pools['volumes'].config.update(config)
        self.assertIsNone(self._created())

    def test_known_where_all_is_planned(self) -> None:
        self.cluster.pools['volumes'].config.update(
            rbd_default_stripe_unit='65536',
            rbd_default_stripe_count='4',
            rbd_default_data_pool='volumes2',
        )
        created = self._created(
            image_layout=librbd_case.STRIPED, data_pool='data'
        )
        self.assertIsNotNone(created)


class CloneTest(librbd_case.LibrbdTestCase):
    def test_of_nobody(self) -> None:
        self.parent(order=20)
        self.clone(order=22)
        self.assertEqual(
            (22, 1 << 20, 1, feature_bits.DEFAULT | feature_bits.STRIPING),
            self.numbers('new'),
        )

    def test_as_planned(self) -> None:
        self.parent(order=23)
        with self.creations.hold(self.creation):
            self.clone(order=22)
        self.assertEqual(librbd_case.NUMBERS, self.numbers('new'))
        self.assertTrue(self.creation.made)
        ((planned, parent),) = self.asked
        # The stock features with the parent's layout, not the stock order.
        self.assertEqual(layout.ImageLayout(8 << 20), planned.layout)
        self.assertIn('object-map', planned.image_features)
        self.assertEqual(
            options.image_values(
                layout.ImageLayout(8 << 20), frozenset({'layering'})
            ),
            parent,
        )

    def test_failed_clone_is_recorded(self) -> None:
        self.parent()
        self.cluster.fail('RBD.clone', self.fault)
        with self.creations.hold(self.creation):
            self.assertRaises(fake_images.OSError, self.clone)
        self.assertIs(self.fault, self.creation.failure)
        # librbd may have created the image, completely or in part.
        self.assertTrue(self.creation.made)


class LateFailureTest(librbd_case.LibrbdTestCase):
    """A call that fails after librbd has completed it, as with a timeout."""

    def _late(self, name: str) -> None:
        real = getattr(fake_librbd.RBD, name)

        def call(*args: Any, **kwargs: Any) -> None:
            real(*args, **kwargs)
            raise self.fault

        self.useFixture(fixtures.MockPatchObject(fake_librbd.RBD, name, call))

    def test_late_failure_removes_the_image(self) -> None:
        self._late('create')
        with self.creations.hold(self.creation):
            self.assertRaises(
                fake_images.OSError,
                self.module.RBD().create,
                self.ioctx,
                'new',
                7,
            )
            self.creation.fail()
        self.assertEqual([], self.cluster.names())

    def test_image_that_was_there(self) -> None:
        self.fake.RBD().create(self.ioctx, 'new', 7)
        self.cluster.fail('RBD.create', self.fault)
        with self.creations.hold(self.creation):
            self.assertRaises(
                fake_images.OSError,
                self.module.RBD().create,
                self.ioctx,
                'new',
                7,
            )
            self.creation.fail()
        self.assertEqual(['new'], self.cluster.names())


class CopyTest(librbd_case.LibrbdTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.parent(order=23)
        self.source = self.module.Image(self.ioctx, 'parent', read_only=True)

    def test_of_nobody(self) -> None:
        self.source.copy(self.ioctx, 'new', order=24)
        self.assertEqual(24, self.numbers('new')[0])

    def test_as_planned(self) -> None:
        stored = self.cluster.stored('parent')
        stored.metadata['conf_rbd_cache'] = 'false'
        with self.creations.hold(self.creation):
            self.source.copy(self.ioctx, 'new')
        self.assertEqual(librbd_case.NUMBERS, self.numbers('new'))
        self.assertEqual({}, self.cluster.stored('new').metadata)
        self.assertTrue(self.creation.made)
        self.assertEqual(
            options.image_values(
                librbd_case.STRIPED,
                frozenset({'layering', 'exclusive-lock', 'striping'}),
            ),
            self.creation.state,
        )
        ((planned, parent),) = self.asked
        self.assertEqual(layout.ImageLayout(8 << 20), planned.layout)
        self.assertEqual(planned, parent)

    def test_part_is_removed(self) -> None:
        self.cluster.fail('Image.copy half-way', self.fault)
        with self.creations.hold(self.creation):
            self.assertRaises(
                fake_images.OSError, self.source.copy, self.ioctx, 'new'
            )
        self.assertEqual(['parent'], self.cluster.names())
        self.assertFalse(self.creation.made)

    def test_what_was_there_is_not(self) -> None:
        self.fake.RBD().create(self.ioctx, 'new', 7)
        with self.creations.hold(self.creation):
            self.assertRaises(
                self.fake.ImageExists, self.source.copy, self.ioctx, 'new'
            )
        self.assertEqual(7, self.cluster.stored('new').size)
        self.assertFalse(self.creation.made)


class CloseImagesTest(librbd_case.LibrbdTestCase):
    """An image that outlives its connection blocks the process."""

    def setUp(self) -> None:
        super().setUp()
        self.parent()
        self.other = self.client.open_ioctx('volumes')

    def test_those_of_one_context(self) -> None:
        kept = self.module.Image(self.other, 'parent')
        left = self.module.Image(self.ioctx, 'parent')
        self.module.close_images(self.ioctx)
        self.assertRaises(self.fake.InvalidArgument, left.size)
        self.assertEqual(1 << 30, kept.size())

    def test_closing_without_open_images_does_nothing(self) -> None:
        with self.module.Image(self.ioctx, 'parent'):
            pass
        self.module.close_images(self.ioctx)
        self.module.close_images(self.ioctx)

    def test_one_that_fails_leaves_the_others(self) -> None:
        images = [self.module.Image(self.ioctx, 'parent') for _ in range(3)]
        self.cluster.fail('Image.close', self.fault)
        self.module.close_images(self.ioctx)
        self.assertEqual(1, len(self.cluster.open_images))
        self.assertIn('made to fail', self.log.output)
        self.assertEqual(3, len(images))


class CleanUpTest(librbd_case.LibrbdTestCase):
    """The stock clean-up is skipped after an image creation failed."""

    def setUp(self) -> None:
        super().setUp()
        self.fake.RBD().create(self.ioctx, 'new', 7)
        self.fake.RBD().create(self.ioctx, 'source', 7)
        self.snapshot = 'new.clone_snap'
        self.useFixture(_Held(self.creations, self.creation))

    def _source(self) -> Any:
        return self.module.Image(self.ioctx, 'source')

    def _snapshots(self) -> dict[str, bool]:
        stored = self.cluster.stored('source')
        return {s.name: s.protected for s in stored.snapshots}

    def _tidy(self) -> None:
        """Clean up as the stock driver does."""
        with self._source() as image:
            image.unprotect_snap(self.snapshot)
            image.remove_snap(self.snapshot)
        self.module.RBD().remove(self.ioctx, 'new')

    def _take_snapshot(self) -> None:
        with self._source() as image:
            image.create_snap(self.snapshot)
            image.protect_snap(self.snapshot)

    def test_as_long_as_nothing_failed(self) -> None:
        self._take_snapshot()
        self._tidy()
        self.assertEqual({}, self._snapshots())
        self.assertEqual(['source'], self.cluster.names())

    def test_after_a_failure(self) -> None:
        self._take_snapshot()
        self.creation.failure = self.fault
        self._tidy()
        self.assertEqual({self.snapshot: True}, self._snapshots())
        self.assertEqual(['new', 'source'], self.cluster.names())

    def test_by_the_creation_itself(self) -> None:
        self._take_snapshot()
        self.creation.failure = self.fault
        self.creation.undo.callback(self._tidy)
        self.creation.fail()
        self.assertEqual({}, self._snapshots())
        self.assertEqual(['source'], self.cluster.names())

    def test_of_other_images(self) -> None:
        self.creation.failure = self.fault
        with self._source() as image:
            image.create_snap('snapshot-1')
            image.protect_snap('snapshot-1')
            image.unprotect_snap('snapshot-1')
            image.remove_snap('snapshot-1')
        self.assertEqual({}, self._snapshots())
        self.module.RBD().remove(self.ioctx, 'source')
        self.assertEqual(['new'], self.cluster.names())

    def test_snapshot_that_fails_is_the_failure(self) -> None:
        for operation in ('Image.create_snap', 'Image.protect_snap'):
            self.creation.failure = None
            self.cluster.fail(operation, self.fault)
            self.assertRaises(fake_images.OSError, self._take_snapshot)
            self.assertIs(self.fault, self.creation.failure)


class _Held(fixtures.Fixture):
    """A creation that is held until the test ends."""

    def __init__(
        self,
        creations: creations.Creations,
        creation: creations.Creation,
    ) -> None:
        self._hold = creations.hold(creation)

    def _setUp(self) -> None:
        self._hold.__enter__()
        self.addCleanup(self._hold.__exit__, None, None, None)
