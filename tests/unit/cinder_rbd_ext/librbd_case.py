# SPDX-License-Identifier: Apache-2.0

"""The driver's librbd wrapper on the fake librbd, during a creation."""

from typing import Any

from cinder_rbd_ext.imaging import creations
from cinder_rbd_ext.imaging import librbd
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import feature_bits
from tests import option_values
from tests.fakes import fake_images
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base

STRIPED = layout.ImageLayout(1 << 20, layout.Striping(64 << 10, 8))
PLAN = option_values.planned(
    STRIPED, frozenset({'layering', 'exclusive-lock'})
)
#: The same in librbd: order, stripe unit, stripe count and features.
NUMBERS = (
    20,
    64 << 10,
    8,
    feature_bits.LAYERING | feature_bits.LOCK | feature_bits.STRIPING,
)


class LibrbdTestCase(base.TestCase):
    """Base class for tests during the creation of an image ``new``."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes', 'data')
        self.client = self.cluster.rados.Rados()
        self.client.connect()
        self.ioctx = self.client.open_ioctx('volumes')
        self.fake = fake_librbd.Librbd(self.cluster)
        self.creations = creations.Creations()
        self.module = librbd.Librbd(
            self.fake,
            self.creations,
            lambda number: str(self.client.pool_reverse_lookup(number)),
        )
        self.asked: list[tuple[options.Values, options.Values | None]] = []
        self.how = PLAN
        self.creation = creations.Creation(
            'new', self._plan, lambda: self.module.discard(self.ioctx, 'new')
        )
        self.fault = fake_images.OSError('made to fail')

    def _plan(
        self, base: options.Values, parent: options.Values | None
    ) -> options.Values:
        self.asked.append((base, parent))
        return self.how

    def numbers(self, name: str) -> tuple[int, int, int, int]:
        """Return the order, stripe unit, stripe count and features."""
        stored = self.cluster.stored(name)
        return stored.order, stored.unit, stored.count, stored.mask

    def parent(self, **options: Any) -> None:
        """Create an image with a protected snapshot."""
        self.fake.RBD().create(
            self.ioctx, 'parent', 1 << 30, **{'features': 1, **options}
        )
        with self.fake.Image(self.ioctx, 'parent') as image:
            image.create_snap('s')
            image.protect_snap('s')

    def clone(self, **kwargs: Any) -> None:
        """Clone the parent, as the stock driver does."""
        self.module.RBD().clone(
            self.ioctx,
            'parent',
            's',
            self.ioctx,
            'new',
            features=feature_bits.DEFAULT,
            **kwargs,
        )
