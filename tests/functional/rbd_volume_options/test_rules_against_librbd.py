# SPDX-License-Identifier: Apache-2.0

"""Compare our rules with librbd for thousands of random volumes.

``RBD_TEST_SEED`` sets the seed, ``RBD_TEST_CASES`` the number of volumes, and
``RBD_TEST_ONLY`` repeats the one with this number. ``tools/test all`` tests
more volumes.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import os
from typing import Any

import rbd

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_arguments
from rbd_volume_options import options
from tests import feature_bits
from tests import runs
from tests.functional import ceph
from tests.functional.rbd_volume_options import cases
from tests.functional.rbd_volume_options import verdicts
from tests.unit import base

SEED = int(os.environ.get('RBD_TEST_SEED', '20130614'))
_ALL = os.environ.get('RBD_TEST_ALL') == '1'
CASES = int(os.environ.get('RBD_TEST_CASES') or (2500 if _ALL else 150))
CLONES = CASES // 6
_ONLY = os.environ.get('RBD_TEST_ONLY')

# A few disagreements are enough to find the fault.
_ENOUGH = 5

# Without the states that librbd keeps in the mask.
_CHOSEN_BITS = feature_bits.FEATURES
_STRIPING = feature_bits.STRIPING

_PARENT_SNAPSHOT = 'base'

Make = Callable[[str, cases.Case, dict[str, Any]], None]


def _numbers(count: int) -> Iterable[int]:
    return [int(_ONLY)] if _ONLY else range(count)


def _refusals() -> tuple[type[Exception], ...]:
    return (
        rbd.InvalidArgument,
        rbd.ArgumentOutOfRange,
        rbd.FunctionNotSupported,
    )


class Disagreement(Exception):
    """Our rules and librbd disagree."""


@runs.tags(runs.DEBIAN)
class RulesTestCase(base.TestCase):
    timeout = max(170, CASES // 10)

    def setUp(self) -> None:
        super().setUp()
        cluster = ceph.shared_cluster()
        # The whole pool is deleted, because the removal of huge images takes
        # hours.
        pool = f'rules-{os.getpid()}'
        cluster.rados.create_pool(pool)
        self.addCleanup(cluster.rados.delete_pool, pool)
        self.ioctx = cluster.rados.open_ioctx(pool)
        self.addCleanup(self.ioctx.close)
        self.rbd = rbd.RBD()
        self.rbd.pool_init(self.ioctx, True)

    def test_new_images(self) -> None:
        drawn = [(n, cases.draw(SEED, n)) for n in _numbers(CASES)]
        self._judge_all(drawn, self._create)

    def test_new_images_at_the_limit_of_the_object_map(self) -> None:
        self._judge_all(enumerate(cases.at_the_limit()), self._create)

    def test_rules_for_clones_agree_with_librbd(self) -> None:
        parents: dict[str, tuple[cases.Case, cases.Numbers]] = {}
        number = 0
        while len(parents) < 30:
            # Parents of any layout and size that librbd accepts.
            case = cases.draw(SEED + 1, number)
            number += 1
            if not isinstance(verdicts.ours(case), options.Values):
                continue
            name = f'parent-{len(parents)}'
            self._judge(name, case, self._create)
            with rbd.Image(self.ioctx, name) as image:
                image.create_snap(_PARENT_SNAPSHOT)
                image.protect_snap(_PARENT_SNAPSHOT)
                parents[name] = (case, self._made(image))
        drawn = []
        for n in _numbers(CLONES):
            name = f'parent-{n % len(parents)}'
            parent, made = parents[name]
            case = cases.draw(SEED, n, made)
            drawn.append((n, dataclasses.replace(case, size=parent.size)))
        self._judge_all(
            ((n, case) for n, case in drawn if not cases.has_heavy_map(case)),
            self._clone,
        )

    def _create(
        self, name: str, case: cases.Case, arguments: dict[str, Any]
    ) -> None:
        options = {'order': 22, 'features': case.stock_features, **arguments}
        self.rbd.create(
            self.ioctx, name, case.size, old_format=False, **options
        )

    def _clone(
        self, name: str, case: cases.Case, arguments: dict[str, Any]
    ) -> None:
        number = int(name.split('-')[1])
        self.rbd.clone(
            self.ioctx,
            f'parent-{number % 30}',
            _PARENT_SNAPSHOT,
            self.ioctx,
            name,
            **{'order': 22, 'features': case.stock_features, **arguments},
        )

    def _judge_all(
        self, drawn: Iterable[tuple[int, cases.Case]], make: Make
    ) -> None:
        lines: list[str] = []
        for number, case in drawn:
            try:
                self._judge(f'image-{number}', case, make)
            except Disagreement as disagreement:
                lines.append(f'number {number}: {disagreement}\n  {case}')
                if len(lines) == _ENOUGH:
                    break
        if lines:
            self.fail(f'RBD_TEST_SEED={SEED}:\n' + '\n'.join(lines))

    def _judge(self, name: str, case: cases.Case, make: Make) -> None:
        verdict = verdicts.ours(case)
        if isinstance(verdict, options.Values):
            try:
                make(name, case, image_arguments.create_arguments(verdict))
            except _refusals() as error:
                raise Disagreement(f'we accept, librbd: {error}') from error
            self._check_made(name, case, verdict)
            return
        try:
            make(name, case, case.arguments)
        except _refusals():
            return
        # librbd can silently drop a feature or use a default instead of the
        # requested value. That counts as a refusal.
        with rbd.Image(self.ioctx, name, read_only=True) as image:
            made = self._made(image)
        if self._is_as_asked(case, made) and not verdicts.is_excused(
            case, verdict
        ):
            raise Disagreement(f'librbd makes {made}, we: {verdict}')

    def _check_made(
        self, name: str, case: cases.Case, how: options.Values
    ) -> None:
        for rule in verdicts.STRICTER:
            if rule.applies(case):
                raise Disagreement(f'we accept, in spite of: {rule.why}')
        with rbd.Image(self.ioctx, name, read_only=True) as image:
            made = self._made(image)
            objects = image.stat()['num_objs']
        if not self._is_as_asked(case, made):
            raise Disagreement(f'made otherwise than asked: {made}')
        stock = verdicts.base_of(case)
        planned = how.layout_over(stock.layout)
        wanted = how.features_over(stock.image_features)
        if planned.striping:
            wanted |= {features.STRIPING}
        if made != cases.Numbers(
            planned.order,
            planned.stripe_unit,
            planned.stripe_count,
            features.to_mask(wanted),
        ):
            raise Disagreement(f'made otherwise than planned: {made}, {how}')
        counted = planned.object_count(case.size)
        if objects != counted:
            raise Disagreement(f'{objects} objects, we count {counted}')

    def _made(self, image: Any) -> cases.Numbers:
        object_size = image.stat()['obj_size']
        return cases.Numbers(
            object_size.bit_length() - 1,
            image.stripe_unit(),
            image.stripe_count(),
            image.features() & _CHOSEN_BITS,
        )

    def _is_as_asked(self, case: cases.Case, made: cases.Numbers) -> bool:
        expected = case.expected
        added = made.features & ~expected.features
        may_add = _STRIPING
        if expected.features & cases.MAP:
            may_add |= cases.FAST_DIFF
        return (
            (expected.order, expected.unit, expected.count)
            == (made.order, made.unit, made.count)
            and not expected.features & ~made.features
            and not added & ~may_add
        )


class CasesTestCase(base.TestCase):
    """The random cases meet every rule."""

    def setUp(self) -> None:
        super().setUp()
        self.drawn = [cases.draw(SEED, number) for number in range(2000)]
        self.verdicts = [verdicts.ours(case) for case in self.drawn]

    def test_every_rule_is_met(self) -> None:
        reasons = [
            f'{verdict.key}: {verdict.reason}'
            for verdict in self.verdicts
            if isinstance(verdict, errors.OptionError)
        ]
        for rule in (
            'rbd:object_size: out of range',
            'rbd:stripe_unit: out of range',
            'rbd:stripe_unit: not a power of two',
            'rbd:stripe_unit: not a factor of the object size',
            'rbd:stripe_unit: set without rbd:stripe_count',
            'rbd:stripe_count: set without rbd:stripe_unit',
            'rbd:stripe_count: not a positive whole number',
            'rbd:features: object-map requires exclusive-lock',
            'rbd:features: journaling requires exclusive-lock',
            'rbd:features: fast-diff requires object-map',
        ):
            met = sum(reason.startswith(rule) for reason in reasons)
            self.assertGreater(met, 3, rule)
        too_many = [
            int(reason.split()[-2].replace(',', ''))
            for reason in reasons
            if reason.endswith(' objects')
        ]
        just = [count for count in too_many if count < 256_300_000]
        self.assertGreater(len(just), 20)
        self.assertGreater(len(too_many), len(just) + 20)

    def test_everything_that_we_are_stricter_in_is_met(self) -> None:
        clones = [
            cases.draw(
                SEED, number, cases.Numbers(22, 2**16, 8, feature_bits.DEFAULT)
            )
            for number in range(400)
        ]
        for rule in verdicts.STRICTER:
            met = [case for case in self.drawn + clones if rule.applies(case)]
            self.assertNotEqual([], met, rule.why)
