# SPDX-License-Identifier: Apache-2.0

"""A store on the in-memory cluster."""

from typing import Any

import fixtures
from glance_store._drivers import rbd as stock

from tests.fakes import fake_rados
from tests.functional.glance_store_objmap import base
from tests.unit.glance_store_objmap import fake_data


class FakeStoreTestCase(base.StoreTestCase):
    """Base class in which both kinds of stores use the fake librbd."""

    def connect(self) -> None:
        """Create the cluster and replace librbd with it."""
        self.cluster = fake_rados.Cluster('images')
        self.librbd = fake_data.Librbd(self.cluster)
        self.cluster_options = {}
        for name, module in (
            ('rados', self.cluster.rados),
            ('rbd', self.librbd),
        ):
            self.useFixture(
                fixtures.MonkeyPatch(f'{stock.__name__}.{name}', module)
            )
        self.client = self.cluster.rados.Rados()
        self.client.connect()
        self.addCleanup(self._check_left)

    def _check_left(self) -> None:
        self.assertEqual([], self.cluster.ended)
        self.assertEqual(set(), self.cluster.faults_left)

    def images(self) -> list[str]:
        """Return the names of the RBD images in the pool."""
        return self.cluster.names('images')

    def image(self, name: str) -> Any:
        """Open an RBD image."""
        return self.librbd.Image(self.client.open_ioctx('images'), name)

    def stored_bytes(self, name: str) -> int:
        """Return the number of bytes that an image stores."""
        sent: int = self.cluster.stored(name, 'images').sent
        return sent
