# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
import json
from typing import Any

import ddt
import hypothesis

from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import plan_file
from tests.unit import untrusted


def _planned(image: str, **values: Any) -> outcomes.Outcome:
    status = outcomes.Status.PLANNED
    return outcomes.Outcome(status, 'volumes', image, **values)


_ITEM = _planned('volume-1', seen={'snapshots': ['one', 'two']})
_OTHER = _planned('volume-2', project='two', size=7)
_HEADER = plan_file.Header(
    *('clean', 'fsid', 'url', 'region'),
    plan_file.now().isoformat(),
    {'delay': 7200},
)


def _parsed(text: str) -> tuple[plan_file.Header, list[outcomes.Outcome]]:
    return plan_file.parsed(text, 'clean')


@ddt.ddt
class PlanFileTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.text = plan_file.text(_HEADER, [_ITEM, _OTHER])

    def test_plan_is_read_as_it_was_written(self) -> None:
        self.assertEqual((_HEADER, [_ITEM, _OTHER]), _parsed(self.text))

    def test_each_line_but_the_first_can_be_deleted(self) -> None:
        first, second, third = self.text.splitlines()
        self.assertEqual([_OTHER], _parsed(f'{first}\n{third}')[1])
        self.assertEqual([_ITEM], _parsed(f'{first}\n{second}\n')[1])
        self.assertEqual([], _parsed(first)[1])
        for text in (second, ''):
            error = self.assertRaises(plan_file.PlanError, _parsed, text)
            self.assertIn('Give the file that clean plan has', str(error))

    @ddt.data(
        ('"volumes"', '"images"'), ('volume-1', 'volume-3'), ('7200', '1')
    )
    @ddt.unpack
    def test_changed_line_is_refused(self, before: str, after: str) -> None:
        error = self.assertRaises(
            plan_file.PlanError, _parsed, self.text.replace(before, after)
        )
        self.assertIn('Line 2 was changed', str(error))

    def test_item_of_another_plan_is_refused(self) -> None:
        header = dataclasses.replace(_HEADER, region='then')
        line = plan_file.text(header, [_ITEM]).splitlines()[1]
        self.assertRaises(plan_file.PlanError, _parsed, f'{self.text}{line}')

    @ddt.data(
        ({'version': 1}, 'version 1'),
        ({'command': 'mark'}, 'one of mark, not of clean'),
        ({'taken': 'now'}, 'The time of the plan'),
        ({'taken': '2026-01-01'}, 'no time zone'),
        ({'taken': '2026-01-01T00:00:00+00:00'}, 'valid for 3 days'),
        (
            {
                'taken': (
                    plan_file.now() + datetime.timedelta(days=1)
                ).isoformat()
            },
            'valid for 3 days',
        ),
    )
    @ddt.unpack
    def test_plan_that_cannot_be_applied_is_refused(
        self, values: dict[str, object], text: str
    ) -> None:
        header = json.dumps({**dataclasses.asdict(_HEADER), **values})
        error = self.assertRaises(plan_file.PlanError, _parsed, header)
        self.assertIn(text, str(error))

    def test_plan_is_for_one_cluster_cloud_and_region(self) -> None:
        _HEADER.check('fsid', 'url', 'region')
        for place in (
            ('other', 'url', 'region'),
            ('fsid', 'other', 'region'),
            ('fsid', 'url', ''),
        ):
            error = self.assertRaises(
                plan_file.PlanError, _HEADER.check, *place
            )
            self.assertIn('not for', str(error))

    @hypothesis.given(
        untrusted.BYTES
        | untrusted.damaged(plan_file.text(_HEADER, [_ITEM, _OTHER]).encode())
        | untrusted.altered(dataclasses.asdict(_HEADER)).map(
            lambda header: json.dumps(header).encode()
        )
    )
    @hypothesis.example(b'[' * 100_000)
    def test_no_damaged_plan_has_another_item(self, content: bytes) -> None:
        try:
            _, items = _parsed(content.decode(errors='replace'))
        except plan_file.PlanError:
            return
        for each in items:
            self.assertIn(each, (_ITEM, _OTHER))
