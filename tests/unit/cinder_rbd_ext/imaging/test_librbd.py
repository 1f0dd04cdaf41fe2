# SPDX-License-Identifier: Apache-2.0

from typing import Any
from unittest import mock

import ddt
import fixtures

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

    def test_is_there_on_a_cluster_that_is_down(self) -> None:
        down = fake_rados.OSError(110)
        with mock.patch.object(
            fake_rados.Ioctx, 'stat', autospec=True, side_effect=down
        ):
            error = self.assertRaises(
                fake_rados.OSError, self.module.is_there, self.ioctx, 'image'
            )
        self.assertIs(down, error)

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


class CopyTest(librbd_case.LibrbdTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.parent(order=23)
        self.source = self.module.Image(self.ioctx, 'parent', read_only=True)

    def test_of_nobody(self) -> None:
        self.source.copy(self.ioctx, 'new', order=24)
        self.assertEqual(24, self.numbers('new')[0])


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
