# SPDX-License-Identifier: Apache-2.0

"""A broken contract is reported in a sentence."""

import importlib.metadata
from typing import Any

import ddt

from tests.unit import base
from tests.unit import contract


def steps(first: str, second: str) -> None:
    """Stand in for a method of the host service."""
    first.strip().title()
    second.lower()


FIELDS = {'size': 1}

_OURS = 'tests/unit/contract.py'


@ddt.ddt
class ContractTest(base.TestCase):
    def _problems(self, name: str, *more: Any) -> list[str]:
        clause = contract.Clause(__name__, name, _OURS, *more)
        return contract.problems('fixtures', [clause])

    def test_kept_contract_has_no_problem(self) -> None:
        calls = ('strip', 'title', 'lower')
        self.assertEqual([], self._problems('steps', ('first',), calls))
        self.assertEqual(
            [],
            self._problems(
                'ContractTest.test_kept_contract_has_no_problem', ()
            ),
        )
        self.assertEqual([], self._problems('FIELDS', None, (), ('size',)))

    @ddt.data(
        ('gone', (), (), f'no longer has {__name__}.gone()'),
        ('steps', ('one',), (), 'but steps(first, second)'),
        ('steps', ('first',), ('lower', 'strip'), 'no longer calls strip'),
        ('steps', ('first',), ('title', 'upper'), 'no longer calls upper'),
    )
    @ddt.unpack
    def test_broken_contract_names_the_change(
        self, name: str, takes: object, calls: object, text: str
    ) -> None:
        (problem,) = self._problems(name, takes, calls)
        version = importlib.metadata.version('fixtures')
        self.assertStartsWith(problem, f'fixtures {version} no longer ')
        self.assertIn(text, problem)
        self.assertEndsWith(problem, f': see {_OURS}')

    def test_a_key_that_is_gone(self) -> None:
        (problem,) = self._problems('FIELDS', None, (), ('size', 'type'))
        self.assertIn(f'no longer has type in {__name__}.FIELDS: ', problem)

    def test_what_is_written_in_a_file(self) -> None:
        passage = contract.Passage(
            'tests.unit', 'test_contract.py', ("{ 'size' : 1 }",), _OURS
        )
        self.assertEqual([], contract.problems('fixtures', [passage]))

    @ddt.data(
        ('gone.js', 'no longer has tests.unit/gone.js: '),
        ('base.py', 'no longer says no such words in tests.unit/base.py: '),
    )
    @ddt.unpack
    def test_a_file_that_is_otherwise(self, file: str, text: str) -> None:
        passage = contract.Passage(
            'tests.unit', file, ('class', 'no such words'), _OURS
        )
        (problem,) = contract.problems('fixtures', [passage])
        self.assertIn(text, problem)
        self.assertEndsWith(problem, f': see {_OURS}')

    def test_module_of_ours_that_is_gone(self) -> None:
        clause = contract.Clause(__name__, 'steps', 'tests/gone.py')
        self.assertEqual(
            ['tests/gone.py does not exist'],
            contract.problems('fixtures', [clause]),
        )

    def assertStartsWith(self, text: str, start: str) -> None:
        self.assertEqual(start, text[: len(start)])

    def assertEndsWith(self, text: str, end: str) -> None:
        self.assertEqual(end, text[-len(end) :])
