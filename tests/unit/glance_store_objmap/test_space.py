# SPDX-License-Identifier: Apache-2.0

"""The space in a pool, as reported by monitors."""

import errno
import json
from typing import Any

import ddt
import fixtures
from glance_store import exceptions
import hypothesis

from glance_store_objmap import space
from tests.unit import base
from tests.unit import untrusted
from tests.unit.glance_store_objmap import fake_data

_PLENTY = {'max_avail': 1000, 'stored': 50, 'objects': 5}


class _Monitor:
    """A client with the answer of its monitor."""

    def __init__(self, total: int = 10_000, **stats: int) -> None:
        pools = [{'id': 1, 'stats': {**_PLENTY, 'max_avail': 0}}]
        pools.append({'id': 2, 'stats': {**_PLENTY, **stats}})
        self.answer: Any = {'stats': {'total_bytes': total}, 'pools': pools}
        self.status = 0

    def mon_command(self, command: str, data: bytes) -> tuple[int, bytes, str]:
        """Answer ``ceph df detail``."""
        request = json.loads(command)
        assert request['prefix'] == 'df'  # noqa: S101
        return self.status, json.dumps(self.answer).encode(), 'no'


@ddt.ddt
class AvailableTest(base.TestCase):
    @ddt.data(
        ({}, 1000),
        ({'max_avail': 0}, 0),
        ({'quota_bytes': 80}, 30),
        ({'quota_bytes': 50}, 0),
        ({'quota_bytes': 20}, 0),
        ({'quota_bytes': 5000}, 1000),
        ({'quota_objects': 6}, 1000),
        ({'quota_objects': 5}, 0),
        # More data fits because of compression.
        ({'compress_under_bytes': 1}, None),
        ({'compress_under_bytes': 1, 'quota_bytes': 80}, 30),
        ({'compress_under_bytes': 1, 'max_avail': 0}, 0),
    )
    @ddt.unpack
    def test_free_space_follows_pool_and_quota(
        self, stats: dict[str, int], expected: int | None
    ) -> None:
        self.assertEqual(expected, space.available(_Monitor(**stats), 2))

    @hypothesis.given(untrusted.altered(_Monitor(quota_bytes=5).answer))
    def test_any_answer_is_a_size_or_unknown(self, answer: object) -> None:
        monitor = _Monitor()
        monitor.answer = answer
        free = space.available(monitor, 2)
        self.assertTrue(free is None or free >= 0)

    def test_manager_that_starts(self) -> None:
        monitor = _Monitor(total=0, max_avail=0)
        self.assertIsNone(space.available(monitor, 2))

    def test_other_pool(self) -> None:
        self.assertIsNone(space.available(_Monitor(), 3))

    def test_user_who_may_not_ask(self) -> None:
        monitor = _Monitor()
        monitor.status = -13
        self.assertIsNone(space.available(monitor, 2))

    @ddt.data({}, [], None, {'pools': [{'id': 2, 'stats': {}}]})
    def test_strange_answer(self, answer: Any) -> None:
        monitor = _Monitor()
        monitor.answer = answer
        self.assertIsNone(space.available(monitor, 2))


class RoomTest(base.TestCase):
    def test_image_that_fits_is_accepted(self) -> None:
        space.Room(_Monitor(), 2).require(1000)

    def test_only_the_log_has_the_free_space(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        error = self.assertRaises(
            exceptions.StorageFull, space.Room(_Monitor(), 2).require, 1001
        )
        self.assertIn('Not enough free space', str(error))
        self.assertNotIn('1000', str(error))
        self.assertIn('has 1000 bytes of free space', log.output)
        self.assertIn('requires 1001 bytes', log.output)

    def test_unknown_space_accepts_any_image(self) -> None:
        space.Room(_Monitor(), 3).require(1 << 60)


@ddt.ddt
class RefusalTest(base.TestCase):
    @ddt.data(
        (fake_data.NoSpace('full'), True),
        (fake_data.OSError('quota', errno.EDQUOT), True),
        (fake_data.OSError('broken', errno.EIO), False),
        (ValueError('no number'), False),
    )
    @ddt.unpack
    def test_is_refusal(self, error: Exception, expected: bool) -> None:
        self.assertIs(expected, space.is_refusal(error))
