# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from rbd_volume_tools.fleet import selection
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import facts
from tests.unit.rbd_volume_tools.audit import stubs

_VOLUME = f'volume-{facts.IDENT}'
_OTHER = f'volume-{facts.OTHER}'
_IMAGE = '11111111-0000-0000-0000-000000000000'
_DISK = f'{facts.OTHER}_disk'


@ddt.ddt
class SelectionTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.known = facts.known(
            facts.volume(),
            facts.volume(facts.OTHER, volume_type='fast', project='two'),
            images=frozenset({_IMAGE}),
            servers=frozenset({facts.OTHER}),
        )
        self.pool = stubs.Pool(
            *(_VOLUME, _OTHER, _IMAGE, _DISK),
            *(f'{facts.IDENT}_disk', f'{_VOLUME}.deleted', 'other'),
        )
        self.cluster = stubs.cluster(self.pool)

    def chosen(self, chosen: selection.Selection) -> set[str]:
        targets, _ = selection.targets(
            self.cluster,
            ['volumes'],
            self.known,
            chosen,
            lambda *args: None,
        )
        return {each.image.name for each in targets}

    @ddt.data(
        ({}, set()),
        ({'all_volumes': True}, {_VOLUME, _OTHER}),
        ({'volumes': frozenset({facts.OTHER})}, {_OTHER}),
        ({'types': frozenset({'fast'})}, {_OTHER}),
        ({'projects': frozenset({'project'})}, {_VOLUME}),
        (
            {'types': frozenset({'fast'}), 'projects': frozenset({'project'})},
            set(),
        ),
        ({'images': True}, {_IMAGE}),
        ({'servers': True}, {_DISK}),
    )
    @ddt.unpack
    def test_images_are_chosen_by_owner(
        self, values: dict[str, Any], names: set[str]
    ) -> None:
        chosen = selection.Selection(**values)
        self.assertEqual(names, self.chosen(chosen))

    def test_pool_that_is_named_twice_is_read_once(self) -> None:
        (target,), _ = selection.targets(
            self.cluster,
            ['volumes', 'volumes'],
            self.known,
            selection.Selection(volumes=frozenset({facts.IDENT})),
            lambda *args: None,
        )
        self.assertEqual(_VOLUME, target.image.name)

    def test_missing_and_unreadable(self) -> None:
        self.pool.errors[_VOLUME] = stubs.Error('no header')
        self.pool.objects[f'rbd_id.{_VOLUME}'] = b'\3\0\0\0abc'
        chosen = selection.Selection(
            volumes=frozenset({facts.IDENT, facts.OTHER})
        )
        targets, unreadable = selection.targets(
            self.cluster,
            ['volumes'],
            self.known,
            chosen,
            lambda *args: None,
        )
        (outcome,) = unreadable
        self.assertEqual(
            (_VOLUME, 'no header'), (outcome.image, outcome.detail)
        )
        names = {each.image.name for each in targets}
        self.assertEqual([facts.IDENT], chosen.missing(self.known, names))
        names.add(_VOLUME)
        self.assertEqual([], chosen.missing(self.known, names))
