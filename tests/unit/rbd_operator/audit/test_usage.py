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
