# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime
from typing import Any
from unittest import mock

import hypothesis

from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import objects
from rbd_volume_tools.audit import report
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.clean import plans
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import outcomes
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import stubs

_ITEM = removal.Item(
    *('orphan-volume', 'volumes', 'volume-1', 'abc', 2**30, '2026-01-01'),
    *(('one', 'two'), '', 'a proof', 'project'),
)
_OTHER = dataclasses.replace(_ITEM, image='volume-2', proof=leftovers.APPROVED)


class ApprovalsTest(untrusted.TestCase):
    def test_approved_items_are_those_that_the_operator_listed(self) -> None:
        self.assertEqual({'volumes/abc'}, plans.approved([_ITEM, _OTHER]))
        self.assertEqual(frozenset(), plans.approved([_ITEM]))

    def test_approvals_are_pools_with_ids(self) -> None:
        self.assertEqual(
            {'volumes/1a', 'images/2b'},
            plans.approvals('volumes/1a # checked\n\n# nothing\nimages/2b'),
        )
        for text in ('1a', 'volumes/', 'volumes/volume-1', 'volumes/*'):
            error = self.assertRaises(ValueError, plans.approvals, text)
            self.assertIn('Line 1', str(error))

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
        self.sources: Any = mock.Mock(cluster=mock.MagicMock())
        cluster = self.sources.cluster
        cluster.librbd = stubs.Pool()
        cluster.librados.Error = KeyError
        cluster.connected.return_value.__enter__.return_value = (None, None)
        for module, name, function in (
            (removal, 'examine', self.examined),
            (
                *(objects, 'is_gone'),
                lambda rados, ioctx, pool, name, ident: name == 'gone',
            ),
        ):
            patch = mock.patch.object(
                module, name, autospec=True, side_effect=function
            )
            patch.start()
            self.addCleanup(patch.stop)

    def examined(
        self,
        sources: evidence.Sources,
        ioctx: Any,
        kind: findings.Kind,
        pool: str,
        image: str,
        ident: str,
    ) -> removal.Item:
        if image == 'unknown':
            raise outcomes.Refused(leftovers.UNKNOWN)
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
            for each in plans.made(audited, self.sources, **wanted)
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
