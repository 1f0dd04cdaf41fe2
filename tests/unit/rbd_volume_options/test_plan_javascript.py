# SPDX-License-Identifier: Apache-2.0

"""Test the rules of this package with the cases of the scripts.

The tests of the dashboard's scripts (tests/javascript) use the same file, so
that rules that are implemented twice cannot differ.
"""

from collections.abc import Mapping
import json
import pathlib
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import registry
from rbd_volume_options import sizes
from tests.unit import base

_TESTS = pathlib.Path(__file__).parent.parent.parent
CASES: dict[str, Any] = json.loads(
    (_TESTS / 'javascript' / 'layout-cases.json').read_text()
)

Case = Mapping[str, Any]
Origin = errors.Origin


def _level(origin: Origin, defaults: Case) -> precedence.Level:
    """Return the parsed defaults of one origin as a level."""
    specs = {
        key: str(value).lower()
        for key, (value, code) in defaults.items()
        if code == origin.code
    }
    parsed = options.parse(specs, keys.Scope.TYPE, origin)
    return precedence.Level(origin, parsed)


def _made(made: Case) -> precedence.Level:
    image_layout = layout.ImageLayout.of(
        made['object_size'], made['stripe_unit'], made['stripe_count']
    )
    state = plan.ImageState(image_layout, frozenset(made['features']))
    return inheritance.level_of(Origin.SOURCE_VOLUME, state)


def _code(case: Case) -> str | None:
    """Return the code of the rule that a case violates; None without one."""
    defaults, source = case.get('defaults', {}), case.get('source', {})
    levels = [
        _level(origin, defaults)
        # An image without values must not be a level: that would mean "not
        # striped".
        for origin in (Origin.VOLUME_TYPE, Origin.BACKEND, Origin.CLUSTER)
        # The values of a Glance image override Ceph's configuration.
        if not (source.get('is_image') and origin is Origin.CLUSTER)
    ]
    if 'made' in source:
        levels.append(_made(source['made']))
    try:
        chosen = options.parse(
            case.get('chosen', {}), keys.Scope.VOLUME, Origin.VOLUME_METADATA
        )
        levels.append(precedence.Level(Origin.VOLUME_METADATA, chosen))
        plan.plan_image(
            precedence.resolve(levels),
            plan.UNKNOWN,
            case['gib'] * sizes.GIB,
            limits.Limits(**{**CASES['limits'], **case.get('limits', {})}),
        )
    except errors.OptionError as error:
        return error.code.value if error.code else str(error)
    return None


@ddt.ddt
class SharedCasesTestCase(base.TestCase):
    @ddt.data(*CASES['problems'])
    def test_problem_has_shared_code(self, case: Case) -> None:
        self.assertEqual(case['code'], _code(case), case['name'])

    def test_problems_have_every_code(self) -> None:
        self.assertEqual(
            {code.value for code in errors.Code} | {None},
            {case['code'] for case in CASES['problems']},
        )

    def test_limits_are_the_default_ones(self) -> None:
        self.assertEqual(limits.Limits(), limits.Limits(**CASES['limits']))

    def test_parse_size(self) -> None:
        for text, expected in CASES['parse_size']:
            self.assertEqual(
                expected, _parsed(sizes.parse_size, 'a key', text), text
            )

    def test_parse_count(self) -> None:
        for text, expected in CASES['parse_count']:
            self.assertEqual(
                expected, _parsed(layout.parse_stripe_count, text), text
            )

    def test_format_size(self) -> None:
        for size, expected in CASES['format_size']:
            self.assertEqual(expected, sizes.format_size(size))

    def test_object_count(self) -> None:
        for case in CASES['object_count']:
            image_layout = layout.ImageLayout.of(
                case['object_size'], case['stripe_unit'], case['stripe_count']
            )
            self.assertEqual(
                case['objects'], image_layout.object_count(case['size'])
            )
            self.assertIs(case['striped'], image_layout.striping is not None)

    def test_words_cover_all_codes_and_origins(self) -> None:
        words = CASES['words']
        self.assertEqual(
            {code.value for code in errors.Code}, {*words['codes']}
        )
        self.assertEqual({each.code for each in Origin}, {*words['origins']})
        self.assertEqual(set(), {*words['keys']} - {*registry.volume_keys()})

    def test_numbers_are_those_of_the_rules(self) -> None:
        self.assertEqual(
            {
                'MAX_OBJECT_MAP_OBJECTS': features.MAX_OBJECT_MAP_OBJECTS,
                'GIB': sizes.GIB,
            },
            CASES['numbers'],
        )


def _parsed(parser: Any, *args: str) -> int | None:
    try:
        number: int = parser(*args)
    except errors.OptionError:
        return None
    return number
