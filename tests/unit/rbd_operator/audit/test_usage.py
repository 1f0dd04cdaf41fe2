# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_operator.audit.usage.

The functional tests compare it with ``rbd du``.
"""

from unittest import mock

from rbd_operator.audit import usage
from tests.unit import base


class ImageNotFound(Exception):
    """The snapshot does not exist."""


class UsageTest(base.TestCase):
    """A snapshot that is deleted after it was listed."""

    def test_deleted_snapshot(self) -> None:
        librbd = mock.Mock(
            ImageNotFound=ImageNotFound,
            RBD_FEATURE_FAST_DIFF=16,
            RBD_FLAG_FAST_DIFF_INVALID=2,
        )
        image = mock.Mock()
        image.features.return_value = 16
        image.set_snap.side_effect = [ImageNotFound, None]
        self.assertIsNone(usage.of(librbd, image, ['gone']))
        # The image is not left at a snapshot.
        image.set_snap.assert_called_with(None)
