# SPDX-License-Identifier: Apache-2.0

from tests.life import kinds
from tests.life import model
from tests.life import steps
from tests.unit import base


def _model() -> model.Model:
    """Return a model to which every rule can be applied."""
    cloud = model.Model()
    for number, owner in enumerate('aabb'):
        name = f'v{number}'
        cloud.volumes[name] = model.Volume(
            name,
            f'ident {number}',
            owner,
            kinds.by_name()['either'],
            1,
            {'rbd:object_size': '1M'},
            {},
            host='sandbox@rbd#rbd',
        )
    cloud.volumes['v3'].attachments['t4'] = model.Attachment('x')
    volume = cloud.volumes['v0']
    cloud.snapshots['s5'] = model.Snapshot(
        's5', 'x', 'v0', 1, {}, None, volume.kind, 'a'
    )
    cloud.backups['b6'] = model.Backup('b6', 'x', 'a', 1, {}, {})
    cloud.images['i7'] = model.Image('i7', 'x', 'a', 1, {})
    cloud.transfers['o8'] = model.Transfer('o8', 'x', 'v2', 'key')
    cloud.strays['m9'] = model.Stray(
        'm9', kinds.BACKENDS['rbd'], 'image', 1, {}
    )
    return cloud


class StepsTestCase(base.TestCase):
    def _drawn(self, seed: str, count: int = 400) -> list[steps.Step]:
        drawn = steps.drawn(_model(), seed, count)
        return [step for group in drawn for step in group]

    def test_a_seed_draws_the_same_steps(self) -> None:
        self.assertEqual(self._drawn('1 2'), self._drawn('1 2'))
        self.assertNotEqual(self._drawn('1 2'), self._drawn('1 3'))

    def test_every_rule_is_drawn(self) -> None:
        names = {step.rule for step in self._drawn('1', 1000)}
        self.assertEqual(set(steps.RULES), names)

    def test_steps_are_numbered(self) -> None:
        numbers = [step.number for step in self._drawn('1')]
        self.assertEqual(list(range(1, len(numbers) + 1)), numbers)

    def test_a_line_holds_a_step(self) -> None:
        drawn = self._drawn('1')
        self.assertTrue(any(step.beside for step in drawn))
        for step in drawn:
            self.assertEqual(step, steps.Step.of(step.line()))

    def test_steps_of_a_file_are_grouped_again(self) -> None:
        groups = list(steps.drawn(_model(), '1', 100))
        flat = [step for group in groups for step in group]
        self.assertEqual(groups, steps.grouped(flat))

    def test_steps_side_by_side_are_about_different_things(self) -> None:
        first = steps.Step(1, 'revert', {'volume': 'v0', 'snapshot': 's5'})
        for rule, args, apart in (
            ('extend', {'volume': 'v0', 'size': 2}, False),
            ('extend', {'volume': 'v1', 'size': 2}, True),
            ('delete other', {'kind': 'snapshots', 'name': 's5'}, False),
            ('create from snapshot', {'snapshot': 's5', 'size': 1}, False),
        ):
            second = steps.Step(2, rule, args)
            judged = steps.are_apart(_model(), first, second)
            self.assertIs(apart, judged, f'{rule} {args}')

    def test_a_source_is_copied_twice_at_a_time(self) -> None:
        first = steps.Step(1, 'create from volume', {'volume': 'v0'})
        second = steps.Step(2, 'snapshot', {'volume': 'v0'})
        self.assertTrue(steps.are_apart(_model(), first, second))
