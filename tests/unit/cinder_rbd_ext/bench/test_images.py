#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Unit tests of cinder_rbd_ext.bench.images."""

from typing import Any

import ddt

from cinder_rbd_ext.bench import images
from rbd_volume_options import errors
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
        self.images = images.Images(
            self.librbd, self.ioctx, feature_bits.DEFAULT, 2**20
        )

    def make(self, name: str) -> None:
        self.librbd.RBD().create(self.ioctx, name, 2**20, old_format=False)

    def test_created(self) -> None:
        wanted = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
        with (
            self.images.created(2**30, 2**20, wanted) as name,
            self.images.held(name) as image,
        ):
            self.assertEqual(65536, image.stripe_unit())
            self.assertEqual(8, image.stripe_count())
        self.assertEqual([], self.cluster.names())

    def test_interrupted(self) -> None:
        def interrupt() -> None:
            with self.images.created(2**30, 0, {}):
                raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, interrupt)
        self.assertEqual([], self.cluster.names())

    def test_limit(self) -> None:
        with self.images.created(2**30, 2**19, {}):
            created = self.images.created(2**30, 2**19 + 1, {})
            error = self.assertRaises(errors.OptionError, created.__enter__)
            self.assertIn('--limit', str(error))
            self.assertEqual(1, len(self.cluster.names()))
        # Removed data does not count.
        self.images.check(2**20)
        with self.images.counted(2**19):
            self.assertRaises(errors.OptionError, self.images.check, 2**20)

    def test_sweep(self) -> None:
        for name in (_LEFT, 'volume-1'):
            self.make(name)
        said: list[str] = []
        self.images.sweep(said.append)
        self.assertEqual(['volume-1'], self.cluster.names())
        self.assertIn(_LEFT, said[0])

    def test_image_of_another_run(self) -> None:
        self.make(_LEFT)
        said: list[str] = []
        with self.images.held(_LEFT):
            self.images.sweep(said.append, 0)
        self.assertEqual([_LEFT], self.cluster.names())
        self.assertIn('in use by another run', said[-1])

    def test_other_images(self) -> None:
        self.make('volume-1')
        self.assertRaises(ValueError, self.images.remove, 'volume-1')
        self.assertEqual(['volume-1'], self.cluster.names())

    @ddt.data(
        ({}, {}),
        ({'rbd:object_size': '1M'}, {'order': 20}),
        (
            {'rbd:object_map': 'false'},
            {'features': feature_bits.DEFAULT & ~feature_bits.MAP},
        ),
        ({'rbd:object_map': 'true'}, {'features': feature_bits.DEFAULT}),
        ({'rbd:features': 'layering'}, {'features': feature_bits.LAYERING}),
    )
    @ddt.unpack
    def test_arguments(self, keys: Any, expected: Any) -> None:
        found = images.arguments(keys, feature_bits.DEFAULT)
        self.assertEqual(expected, found)

    @ddt.data(
        str(feature_bits.DEFAULT),
        'layering, exclusive-lock,object-map,fast-diff,deep-flatten',
    )
    def test_default_features(self, text: str) -> None:
        self.assertEqual(feature_bits.DEFAULT, images.default_features(text))
