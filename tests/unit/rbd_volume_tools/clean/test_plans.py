# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
import json
from typing import Any
from unittest import mock

import hypothesis

from rbd_volume_tools.audit import evidence
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import examination
from rbd_volume_tools.clean import plans
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import stubs

_ITEM = examination.Item(
    *('orphan-volume', 'volumes', 'volume-1', 'abc', 2**30, '2026-01-01'),
    *(('one', 'two'), '', 'a proof', 'project'),
)
_OTHER = dataclasses.replace(_ITEM, image='volume-2', proof=evidence.APPROVED)
_HEADER = plans.Header('fsid', 'url', 'region', 'cloud', 'now', 3600, 7200)


class PlanFileTest(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.text = plans.text(_HEADER, [_ITEM, _OTHER])

    def test_plan_is_read_as_it_was_written(self) -> None:
        self.assertEqual((_HEADER, [_ITEM, _OTHER]), plans.parsed(self.text))
        self.assertEqual({'volumes/abc'}, plans.approved([_OTHER]))
        self.assertEqual(frozenset(), plans.approved([_ITEM]))

    def test_each_line_but_the_first_can_be_deleted(self) -> None:
        first, second, third = self.text.splitlines()
        self.assertEqual([_OTHER], plans.parsed(f'{first}\n{third}')[1])
        self.assertEqual([_ITEM], plans.parsed(f'{first}\n{second}\n')[1])
        self.assertEqual([], plans.parsed(first)[1])
        self.assertRaises(plans.PlanError, plans.parsed, second)
        self.assertRaises(plans.PlanError, plans.parsed, '')

    def test_changed_line_is_refused(self) -> None:
        for before, after in (
            ('"volumes"', '"images"'),
            ('"abc"', '"bcd"'),
            ('7200', '1'),
            ('a proof', 'listed by the operator'),
        ):
            error = self.assertRaises(
                plans.PlanError, plans.parsed, self.text.replace(before, after)
            )
            self.assertIn('Line 2 was changed', str(error))

    def test_item_of_another_plan_is_refused(self) -> None:
        other = plans.text(dataclasses.replace(_HEADER, taken='then'), [_ITEM])
        line = other.splitlines()[1]
        self.assertRaises(plans.PlanError, plans.parsed, f'{self.text}{line}')

    def test_plan_of_another_version_is_refused(self) -> None:
        header = json.dumps({**dataclasses.asdict(_HEADER), 'version': 2})
        error = self.assertRaises(plans.PlanError, plans.parsed, header)
        self.assertIn('version 2', str(error))

    def test_approvals_are_pools_with_ids(self) -> None:
        self.assertEqual(
            {'volumes/1a', 'images/2b'},
            plans.approvals('volumes/1a # checked\n\n# nothing\nimages/2b'),
        )
        for text in ('1a', 'volumes/', 'volumes/volume-1', 'volumes/*'):
            error = self.assertRaises(ValueError, plans.approvals, text)
            self.assertIn('Line 1', str(error))

    @hypothesis.given(
        untrusted.BYTES
        | untrusted.damaged(plans.text(_HEADER, [_ITEM, _OTHER]).encode())
        | untrusted.altered(dataclasses.asdict(_HEADER)).map(
            lambda header: json.dumps(header).encode()
        )
    )
    @hypothesis.example(b'[' * 100_000)
    def test_no_damaged_plan_has_another_item(self, content: bytes) -> None:
        try:
            _, items = plans.parsed(content.decode(errors='replace'))
        except plans.PlanError:
            return
        self.assertLessEqual({*items}, {_ITEM, _OTHER})

    @hypothesis.given(untrusted.TEXTS)
    def test_any_approvals_are_ids_or_refused(self, text: str) -> None:
        try:
            approved = plans.approvals(text)
        except ValueError as error:
            self.assertIn('of the approvals', str(error))
            return
        self.assertTrue(all(each.count('/') == 1 for each in approved))


class MadeTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.examiner: Any = mock.create_autospec(
            examination.Examiner, instance=True
        )
        self.examiner.cluster = mock.MagicMock(
            librbd=stubs.Pool(), librados=mock.Mock(Error=KeyError)
        )
        self.examiner.cluster.connected.return_value.__enter__.return_value = (
            None,
            None,
        )
        self.examiner.examine.side_effect = self.examined
        patch = mock.patch.object(
            objects,
            'is_gone',
            autospec=True,
            side_effect=lambda rados, ioctx, pool, name, ident: name == 'gone',
        )
        patch.start()
        self.addCleanup(patch.stop)

    def examined(
        self,
        ioctx: Any,
        kind: findings.Kind,
        pool: str,
        image: str,
        ident: str,
    ) -> examination.Item:
        if image == 'unknown':
            raise outcomes.Refused(evidence.UNKNOWN)
        if image == 'forbidden':
            raise stubs.PermissionError('may not read its clones')
        if image in ('gone', 'incomplete'):
            raise stubs.ImageNotFound('no such parent')
        if image == 'unanswered':
            raise outcomes.NotAnswered('The database')
        if image == 'not text':
            raise UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'no text')
        return dataclasses.replace(_ITEM, image=image, project=f'of {image}')

    def made(self, *images: str, **wanted: Any) -> list[tuple[str, str]]:
        now = datetime.datetime.now(datetime.timezone.utc)
        audited = report.Report(
            *(now, 0, ()),
            tuple(
                findings.Finding(findings.ORPHAN_VOLUME, 'volumes', image)
                for image in images
            ),
            (),
        )
        return [
            (
                ('item', each.item.image)
                if isinstance(each, removal.Removal)
                else (each.status.value, each.image)
            )
            for each in plans.made(
                audited, plans.Filter(**wanted), self.examiner
            )
        ]

    def test_each_leftover_has_its_result_and_none_ends_the_plan(self) -> None:
        self.assertEqual(
            [
                ('owner unknown', 'unknown'),
                ('failed', 'forbidden'),
                ('failed', 'unanswered'),
                ('failed', 'not text'),
                ('unchanged', 'gone'),
                ('failed', 'incomplete'),
                ('item', 'one'),
            ],
            self.made(
                *('unknown', 'forbidden', 'unanswered', 'not text'),
                *('gone', 'incomplete', 'one'),
            ),
        )

    def test_filters_narrow_the_plan(self) -> None:
        self.assertEqual(
            [('item', 'a1')], self.made('a1', 'b1', patterns=('a*',))
        )
        self.assertEqual(
            [('item', 'b1')],
            self.made('a1', 'b1', projects=frozenset({'of b1'})),
        )
        self.assertEqual(
            [], self.made('a1', kinds=frozenset({'orphan-image'}))
        )
        self.assertEqual(
            [('item', 'a1'), ('refused', 'b1')],
            self.made('a1', 'b1', limit=1),
        )
