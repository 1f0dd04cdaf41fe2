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

    @ddt.data(
        ({'types': frozenset({'fast'})}, True),
        ({'all_volumes': True}, False),
        ({'images': True}, False),
    )
    @ddt.unpack
    def test_volumes_have_images_in_pools_that_can_be_read(
        self, values: dict[str, Any], has_all: bool
    ) -> None:
        chosen = selection.Selection(**values)
        scanned = {('volumes', _OTHER)}
        self.assertEqual(has_all, chosen.has_all(self.known, scanned))
        self.assertFalse(chosen.has_all(self.known, {('copies', _OTHER)}))

    def test_volume_that_cannot_have_an_image_is_not_missed(self) -> None:
        chosen = selection.Selection(all_volumes=True)
        for values in ({'status': 'creating'}, {'pool': 'host@lvm#lvm'}):
            known = facts.known(
                facts.volume(**values), elsewhere=frozenset({'host@lvm#lvm'})
            )
            self.assertTrue(chosen.has_all(known, set()))

    def test_volume_of_a_service_that_is_down_is_missed(self) -> None:
        """The scheduler does not list its pools."""
        chosen = selection.Selection(all_volumes=True)
        known = facts.known(facts.volume(), backends={})
        self.assertFalse(chosen.has_all(known, set()))

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
        self.assertEqual([('volumes', _VOLUME, 'no header')], unreadable)
        names = {each.image.name for each in targets}
        self.assertEqual([facts.IDENT], chosen.missing(self.known, names))
        names.add(_VOLUME)
        self.assertEqual([], chosen.missing(self.known, names))
