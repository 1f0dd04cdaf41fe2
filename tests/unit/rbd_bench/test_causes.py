# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_bench import causes
from rbd_bench import published
from rbd_bench import summary
from tests.unit import base
from tests.unit.rbd_bench import samples

_WRITETHROUGH = {'options': {'rbd_cache_policy': 'writethrough'}}
_SECURE = {'options': {'ms_client_mode': 'secure crc'}}
_BOTH = {'options': {**_WRITETHROUGH['options'], **_SECURE['options']}}
_SHORT_TIMEOUT = {
    'options': {'rados_osd_op_timeout': '5', 'osd_heartbeat_grace': '20'}
}
_POOL = {'pool': {'name': 'p', 'overrides': {'conf_rbd_cache': 'false'}}}
_OLD = {'client': {'rbd': 'ceph version 15.2.17 (8a82) octopus (stable)'}}
_NEW = {'client': {'rbd': 'ceph version 18.2.0 (5dd2) reef (stable)'}}


def tables(**values: Any) -> list[summary.Table]:
    """Return the tables of a measurement with these values."""
    return summary.tables(
        samples.parsed(), samples.found(samples.sample(1.0, **values))
    )


@ddt.ddt
class CausesTest(base.TestCase):
    @ddt.data(
        (_WRITETHROUGH, 'rbd_cache_policy = writethrough'),
        (_SECURE, 'ms_client_mode = secure crc'),
        (_SHORT_TIMEOUT, 'osd_heartbeat_grace = 20'),
        (_POOL, 'rbd_cache = false'),
        (_OLD, 'ceph version 15.2.17'),
    )
    @ddt.unpack
    def test_cause_is_found_in_the_environment(
        self, environment: dict[str, Any], seen: str
    ) -> None:
        (cause,) = causes.find(environment)
        self.assertIn(seen, cause.finding.seen)
        self.assertEqual(1, cause.number)

    @ddt.data({}, _NEW, samples.ENVIRONMENT, {'pool': {'name': 'p'}})
    def test_find_nothing(self, environment: dict[str, Any]) -> None:
        self.assertEqual([], causes.find(environment))

    def test_causes_are_numbered(self) -> None:
        numbered = causes.find({**_WRITETHROUGH, **_POOL, **_OLD})
        self.assertEqual([1, 2, 3], [each.number for each in numbered])

    @ddt.data(
        # environment, affects no cache, affects writeback, a deletion
        (_WRITETHROUGH, False, True, False),
        (_SECURE, True, True, False),
        (_SHORT_TIMEOUT, False, False, False),
        (_POOL, True, True, False),
        (_OLD, True, True, False),
    )
    @ddt.unpack
    def test_of_table(
        self,
        environment: dict[str, Any],
        plain: bool,
        cached: bool,
        deletion: bool,
    ) -> None:
        numbered = causes.find(environment)
        for affected, values in (
            (plain, {'cache_mode': 'none'}),
            (cached, {'cache_mode': 'writeback'}),
            (deletion, {'features': 'with'}),
        ):
            (table,) = tables(**values)
            numbers = [1] if affected else []
            self.assertEqual(
                numbers, causes.of_table(numbered, table), str(values)
            )

    def test_of_published(self) -> None:
        measured = samples.found(
            samples.sample(1.0, cache_mode='none'),
            samples.sample(2.0, cache_mode='writeback'),
            samples.sample(1.0, layout='striped'),
        )
        numbers = {
            each.published.name: causes.of_published(causes.find(_BOTH), each)
            for each in published.compare(samples.parsed(), measured)
        }
        self.assertEqual([], numbers.pop('map'), 'not measured')
        # The cache is off in both combinations of the ratio of striping.
        self.assertEqual({'cache': [1, 2], 'striping': [2]}, numbers)

    def test_of_published_that_was_not_measured(self) -> None:
        compared = published.compare(samples.parsed(), samples.found())
        for each in compared:
            self.assertIsNone(each.ratio)
            self.assertEqual([], causes.of_published(causes.find(_BOTH), each))
