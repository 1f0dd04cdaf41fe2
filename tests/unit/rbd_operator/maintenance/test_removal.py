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

"""Unit tests of rbd_operator.maintenance.removal.

The functional tests remove things on a cluster.
"""

import datetime
from typing import Any
from unittest import mock

import ddt

from rbd_operator.audit import findings
from rbd_operator.audit import names
from rbd_operator.maintenance import migrations
from rbd_operator.maintenance import outcomes
from rbd_operator.maintenance import removal
from tests import feature_bits
from tests.unit import base
from tests.unit.rbd_operator.audit import facts

_NAME = f'volume-{facts.IDENT}'
_HOUR = datetime.timedelta(hours=1)


class _Image:
    """An image of two hours ago, which is also the module."""

    ImageNotFound = KeyError
    RBD_MIRROR_IMAGE_DISABLED = 2
    RBD_FEATURE_MIGRATING = feature_bits.MIGRATING

    def __init__(self) -> None:
        self.watchers: list[dict[str, Any]] = []
        self.children: list[dict[str, str]] = []
        self.group_name = ''
        self.mask = feature_bits.DEFAULT
        self.mirror_state = self.RBD_MIRROR_IMAGE_DISABLED
        self.moved: list[tuple[str, int]] = []

    def Image(self, ioctx: Any, name: str, **kwargs: Any) -> Any:
        return self

    def RBD(self) -> '_Image':
        return self

    def __enter__(self) -> '_Image':
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def watchers_list(self) -> list[dict[str, Any]]:
        return self.watchers

    def list_lockers(self) -> list[Any]:
        return []

    def create_timestamp(self) -> datetime.datetime:
        now = datetime.datetime.now(datetime.timezone.utc)
        return (now - 2 * _HOUR).replace(tzinfo=None)

    def list_snaps(self) -> list[dict[str, Any]]:
        return [{'id': 7, 'name': 'one', 'namespace': 0}]

    def set_snap_by_id(self, ident: int) -> None:
        pass

    def set_snap(self, name: None) -> None:
        pass

    def list_children2(self) -> list[dict[str, str]]:
        return self.children

    def features(self) -> int:
        return self.mask

    def group(self) -> dict[str, str]:
        return {'name': self.group_name}

    def mirror_image_get_info(self) -> dict[str, int]:
        return {'state': self.mirror_state}

    def id(self) -> str:
        return 'abc'

    def trash_move(self, ioctx: Any, name: str, delay: int) -> None:
        self.moved.append((name, delay))


@ddt.ddt
class RemovalTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.image = _Image()
        self.recorded: tuple[names.Owner, str] | None = None

    def apply(self, hours: int = 1) -> str:
        about = outcomes.Outcome(outcomes.Status.PLANNED, 'pool', _NAME)
        return removal.Removal(
            about,
            findings.ORPHAN_VOLUME,
            mock.sentinel.librados,
            self.image,
            removal.Rules(48 * _HOUR, hours * _HOUR),
            lambda owner, ident: (owner, ident) == self.recorded,
        ).apply(None, None, frozenset())

    def test_to_trash(self) -> None:
        self.assertIn('abc for 2 days', self.apply())
        self.assertEqual([(_NAME, 172800)], self.image.moved)

    def test_unfinished_migration(self) -> None:
        self.image.mask |= feature_bits.MIGRATING
        with mock.patch.object(
            migrations, 'finish', autospec=True, return_value='finished'
        ):
            self.assertIn('finished; moved', self.apply())
        self.assertEqual(1, len(self.image.moved))

    @ddt.data(
        ('watchers', [{'addr': 'a', 'id': 1, 'cookie': 2}], removal.IN_USE),
        ('children', [{'pool': 'p', 'image': 'c'}], removal.CHILDREN),
        ('group_name', 'group', removal.IN_GROUP),
        ('mirror_state', 1, removal.MIRRORED),
    )
    @ddt.unpack
    def test_refused(
        self, name: str, value: Any, reason: outcomes.Reason
    ) -> None:
        setattr(self.image, name, value)
        error = self.assertRaises(outcomes.Refused, self.apply)
        self.assertIs(reason, error.reason)
        self.assertEqual([], self.image.moved)

    def test_recorded(self) -> None:
        self.recorded = names.Owner.VOLUME, facts.IDENT
        error = self.assertRaises(outcomes.Refused, self.apply)
        self.assertIs(removal.RECORDED, error.reason)
        self.assertEqual([], self.image.moved)

    def test_too_young(self) -> None:
        error = self.assertRaises(outcomes.Refused, self.apply, 3)
        self.assertIs(removal.TOO_YOUNG, error.reason)
