# SPDX-License-Identifier: Apache-2.0

import pathlib
import time
from typing import Any
from unittest import mock

import ddt
import fixtures

from rbd_volume_options import errors
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import processes
from tests import feature_bits
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base

_LEFT = f'{images.PREFIX}left'


@ddt.ddt
class ImagesTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.librbd = fake_librbd.Librbd(self.cluster)
        connected = self.cluster.connected()
        self.ioctx = connected.__enter__()
        self.addCleanup(connected.__exit__, None, None, None)
        self.said: list[str] = []
        folder = self.useFixture(fixtures.TempDir()).path
        self.journal = pathlib.Path(folder, images.JOURNAL)
        self.journal.write_text(f'{_LEFT}\n')
        self.images = images.Images(
            self.librbd,
            self.ioctx,
            feature_bits.DEFAULT,
            2**20,
            self.journal,
            self.said.append,
        )

    def make(self, name: str) -> None:
        self.librbd.RBD().create(self.ioctx, name, 2**20, old_format=False)

    def test_image_has_keys_and_is_removed(self) -> None:
        wanted = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
        with (
            self.images.created(2**30, 2**20, wanted) as name,
            self.images.held(name) as image,
        ):
            self.assertEqual(65536, image.stripe_unit())
            self.assertEqual(8, image.stripe_count())
        self.assertEqual([], self.cluster.names())

    def test_images_over_the_limit_are_refused(self) -> None:
        with self.images.created(2**30, 2**19, {}):
            created = self.images.created(2**30, 2**19 + 1, {})
            error = self.assertRaises(errors.OptionError, created.__enter__)
            self.assertIn('--limit', str(error))
            self.assertEqual(1, len(self.cluster.names()))
        # Removed data does not count.
        self.images.check(2**20)
        with self.images.counted(2**19):
            self.assertRaises(errors.OptionError, self.images.check, 2**20)

    def test_sweep_removes_only_images_of_the_own_folder(self) -> None:
        other = f'{images.PREFIX}other'
        for name in (_LEFT, other, 'volume-1'):
            self.make(name)
        self.images.sweep()
        self.assertEqual([other, 'volume-1'], self.cluster.names())
        self.assertIn(_LEFT, self.said[0])
        self.assertIn(f'another folder created them: {other}.', self.said[1])
        self.assertRaises(ValueError, self.images.remove, other)

    def test_list_of_other_images_in_the_folder_removes_none(self) -> None:
        """An operator may have kept such a list in a file of this name."""
        self.journal.write_text('volume-1\n')
        self.make('volume-1')
        self.images.sweep()
        self.assertEqual(['volume-1'], self.cluster.names())
        self.assertRaises(ValueError, self.images.remove, 'volume-1')

    def test_name_that_a_full_disk_has_cut_off_hides_no_other(self) -> None:
        self.journal.write_text(images.PREFIX)
        with self.images.created(2**20, 0, {}) as name:
            self.assertIn(name, self.images.created_names)
        self.assertEqual([], self.cluster.names())

    def test_name_is_in_the_journal_before_the_image_exists(self) -> None:
        def create(*args: Any, **kwargs: Any) -> None:
            self.assertIn(args[2], self.journal.read_text().split())
            raise KeyboardInterrupt

        patch = mock.patch.object(fake_librbd.RBD, 'create', autospec=True)
        with patch as called:
            called.side_effect = create
            self.assertRaises(
                KeyboardInterrupt,
                self.images.created(2**20, 0, {}).__enter__,
            )
        called.assert_called_once()

    def test_image_of_another_run(self) -> None:
        self.make(_LEFT)
        with self.images.held(_LEFT):
            self.images.sweep(0)
        self.assertEqual([_LEFT], self.cluster.names())
        self.assertIn('in use by another run', self.said[-1])

    def test_interrupted_while_another_client_has_it_open(self) -> None:
        def interrupt(seconds: float) -> None:
            self.image.close()
            raise KeyboardInterrupt

        def create() -> None:
            with self.images.created(2**30, 0, {}) as name:
                self.image = self.images.held(name)

        sleep = mock.patch.object(time, 'sleep', autospec=True)
        with sleep as waited:
            waited.side_effect = interrupt
            self.assertRaises(KeyboardInterrupt, create)
        self.assertEqual([], self.cluster.names())
        self.assertEqual([], self.images.present)

    def test_image_that_stays_open(self) -> None:
        remove = mock.patch.object(
            images.Images, 'remove', autospec=True, return_value=False
        )
        with remove:
            with self.images.created(2**30, 2**20, {}) as name:
                pass
            # The second attempt at the end of the run says nothing new.
            self.images.discard_all()
        (line,) = self.said
        self.assertIn(f'Not removed: volumes/{name}; the next run', line)
        self.assertEqual([name], self.images.present)
        # Its data still counts towards the limit.
        self.assertRaises(errors.OptionError, self.images.check, 1)
        self.images.discard_all()
        self.assertEqual([], self.cluster.names())

    def test_removal_that_fails(self) -> None:
        self.cluster.fail('RBD.remove', self.librbd.OSError('no answer'))
        with self.images.created(2**30, 0, {}):
            pass
        self.assertIn('no answer', self.said[0])

    def test_refused_image(self) -> None:
        created = self.images.created(2**60, 0, {'rbd:object_size': '4K'})
        error = self.assertRaises(processes.EngineError, created.__enter__)
        self.assertIn(f'image {images.PREFIX}', str(error))

    def test_trash_that_the_binding_cannot_read(self) -> None:
        listed = mock.patch.object(
            fake_librbd.RBD, 'trash_list', autospec=True
        )
        self.make(_LEFT)
        with listed as trash_list:
            trash_list.side_effect = IndexError
            self.assertEqual([_LEFT], self.images.left())

    @ddt.data(
        ({}, []),
        (
            {'rbd:object_size': '1M'},
            ['rbd:object_size is 4194304 instead of 1048576'],
        ),
        (
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'},
            [
                'rbd:stripe_unit is 4194304 instead of 65536',
                'rbd:stripe_count is 1 instead of 8',
            ],
        ),
        (
            {'rbd:object_map': 'false'},
            ['rbd:object_map is True instead of False'],
        ),
        ({'rbd:object_map': 'true'}, []),
        (
            {'rbd:features': 'layering'},
            [
                'rbd:features is deep-flatten, exclusive-lock, fast-diff, '
                'layering, object-map instead of layering'
            ],
        ),
    )
    @ddt.unpack
    def test_differences_from_requested_keys_are_named(
        self, keys: Any, expected: list[str]
    ) -> None:
        self.make('volume-1')
        with self.librbd.Image(self.ioctx, 'volume-1') as image:
            self.assertEqual(expected, images.differences(image, keys))
        made = images.arguments(keys, feature_bits.DEFAULT)
        self.librbd.RBD().create(
            self.ioctx, 'volume-2', 2**20, old_format=False, **made
        )
        with self.librbd.Image(self.ioctx, 'volume-2') as image:
            self.assertEqual([], images.differences(image, keys))

    @ddt.data(
        str(feature_bits.DEFAULT),
        'layering, exclusive-lock,object-map,fast-diff,deep-flatten',
    )
    def test_default_features(self, text: str) -> None:
        self.assertEqual(feature_bits.DEFAULT, images.default_features(text))
