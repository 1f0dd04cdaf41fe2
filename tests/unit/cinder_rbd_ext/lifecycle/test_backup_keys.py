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

"""Test the keys of a volume after a restore."""

from collections.abc import Mapping

import ddt

from cinder_rbd_ext.lifecycle import backup_keys
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.unit import base

_PAIR = {keys.STRIPE_UNIT: '64K', keys.STRIPE_COUNT: '8'}


def _anything(metadata: Mapping[str, str], added: frozenset[str]) -> None:
    """Allow all keys."""


def _nothing(metadata: Mapping[str, str], added: frozenset[str]) -> None:
    raise errors.OptionError('rbd:x', 'y', 'not allowed', 'nothing')


@ddt.ddt
class RestoredKeysTest(base.TestCase):
    def test_own_win(self) -> None:
        found = backup_keys.settled(
            _PAIR, {keys.STRIPE_COUNT: '2', 'x': 'y'}, _anything
        )
        self.assertEqual({**_PAIR, 'x': 'y'}, found)

    def test_others_are_checked_with_them(self) -> None:
        seen: list[tuple[Mapping[str, str], frozenset[str]]] = []
        came = {keys.CACHE_MODE: 'none'}
        found = backup_keys.settled(
            _PAIR, came, lambda *asked: seen.append(asked)
        )
        self.assertEqual(
            [({**_PAIR, **came}, frozenset({keys.CACHE_MODE}))], seen
        )
        self.assertEqual({**_PAIR, **came}, found)

    def test_pair_is_checked_as_one(self) -> None:
        seen: list[tuple[Mapping[str, str], frozenset[str]]] = []
        backup_keys.settled({}, _PAIR, lambda *asked: seen.append(asked))
        self.assertEqual([(_PAIR, frozenset(_PAIR))], seen)

    def test_keys_that_cannot_be_restored_are_dropped(self) -> None:
        self.assertEqual(
            {'x': 'y'},
            backup_keys.settled({}, {**_PAIR, 'x': 'y'}, _nothing),
        )

    @ddt.data(
        'RBD:object_size', ' rbd:object_size', 'rbd\uff1aobject_size', 'rbd:x'
    )
    def test_what_only_looks_like_ours(self, key: str) -> None:
        self.assertEqual({}, backup_keys.settled({}, {key: '1'}, _anything))
