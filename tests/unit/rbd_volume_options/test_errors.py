# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
import copy
import pickle
from typing import Any

import ddt
import hypothesis

from rbd_volume_options import errors
from tests.unit import untrusted
from tests.unit.rbd_volume_options import refusals

Origin = errors.Origin


@ddt.ddt
class OriginTestCase(refusals.RefusalTestCase):
    def test_highest_precedence_first(self) -> None:
        self.assertEqual(
            [
                'volume metadata',
                'volume type',
                'source volume',
                'backend configuration',
                'Glance image',
                'Ceph configuration',
            ],
            [origin.label for origin in sorted(Origin)],
        )

    def test_codes_are_sorted_by_precedence(self) -> None:
        self.assertEqual(
            [
                'volume_metadata',
                'volume_type',
                'source_volume',
                'backend',
                'glance_image',
                'cluster',
            ],
            [origin.code for origin in sorted(Origin)],
        )

    @ddt.data(*Origin)
    def test_none_is_false(self, origin: Origin) -> None:
        # Messages omit a missing origin with `if origin`.
        self.assertTrue(origin)


@ddt.ddt
class ShownTestCase(refusals.RefusalTestCase):
    @ddt.named_data(
        ['plain', '64K', "'64K'"],
        ['empty', '', "''"],
        ['quote', "it's", '"it\'s"'],
        ['newline', 'a\nERROR b', r"'a\nERROR b'"],
        ['carriage_return', 'a\rb', r"'a\rb'"],
        ['escape_sequence', '\x1b[2J', r"'\x1b[2J'"],
        ['nul', 'a\0b', r"'a\x00b'"],
        ['line_separator', 'a\u2028b', r"'a\u2028b'"],
        ['fullwidth', '\uff16', r"'\uff16'"],
        ['right_to_left_override', '\u202e', r"'\u202e'"],
        ['lone_surrogate', '\ud800', r"'\ud800'"],
        ['a_number', 65536, "'65536'"],
        ['none', None, "'None'"],
        ['just_short_enough', 'x' * 64, f"'{'x' * 64}'"],
        ['too_long', 'x' * 65, f"'{'x' * 64}'... (65 characters)"],
        ['much_too_long', '1' * 300, f"'{'1' * 64}'... (300 characters)"],
    )
    def test_value_is_shown_escaped_and_shortened(
        self, value: object, expected: str
    ) -> None:
        self.assertEqual(expected, errors.shown(value))

    @hypothesis.given(untrusted.TEXTS | untrusted.DATA)
    def test_any_value_is_one_printable_ascii_line(self, value: Any) -> None:
        shown = errors.shown(value)
        self.assertTrue(shown.isascii() and shown.isprintable(), shown)
        # An escaped character has at most ten characters (\U0010ffff).
        self.assertLess(len(shown), 10 * errors.MAX_SHOWN + 40)


@ddt.ddt
class OptionErrorTestCase(refusals.RefusalTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.error = errors.OptionError(
            'rbd:stripe_count',
            '0',
            'not a positive whole number',
            'a whole number of at least 1',
            Origin.VOLUME_TYPE,
            errors.Code.STRIPE_COUNT_TOO_LARGE,
        )

    def _parts(self, error: errors.OptionError) -> tuple[object, ...]:
        return (
            error.key,
            error.value,
            error.reason,
            error.allowed,
            error.origin,
            str(error),
            error.code,
        )

    def test_text_names_key_value_origin_and_allowed(self) -> None:
        self.assertEqual(
            "rbd:stripe_count = '0' (volume type): not a positive whole "
            'number; allowed: a whole number of at least 1',
            str(self.error),
        )

    def test_only_names_of_pools_are_hidden_from_tenants(self) -> None:
        self.assertIs(self.error, self.error.for_tenants())
        error = errors.OptionError(
            'rbd:data_pool', 'fast', 'no such pool', 'slow', Origin.VOLUME_TYPE
        )
        self.assertEqual(
            "rbd:data_pool = 'not shown' (volume type): no such pool; "
            'allowed: not shown',
            str(error.for_tenants()),
        )
        own = error.at(Origin.VOLUME_METADATA)
        self.assertIs(own, own.for_tenants())

    def test_text_where_the_origin_is_not_known(self) -> None:
        error = errors.OptionError('rbd:stripe_count', 0, 'wrong', 'right')
        self.assertIsNone(error.origin)
        self.assertEqual(
            "rbd:stripe_count = '0': wrong; allowed: right", str(error)
        )

    def test_is_a_value_error(self) -> None:
        # oslo.config expects a ValueError for an invalid option value.
        self.assertIsInstance(self.error, ValueError)

    @ddt.data(*Origin)
    def test_at_tells_the_origin_and_keeps_the_rest(
        self, origin: Origin
    ) -> None:
        moved = self.error.at(origin)
        self.assertEqual(origin, moved.origin)
        self.assertIn(f'({origin.label})', str(moved))
        self.assertEqual(self._parts(self.error)[:4], self._parts(moved)[:4])
        self.assertEqual(self.error.code, moved.code)
        self.assertEqual(Origin.VOLUME_TYPE, self.error.origin)

    @ddt.data(*range(pickle.HIGHEST_PROTOCOL + 1))
    def test_error_survives_pickling(self, protocol: int) -> None:
        loaded = pickle.loads(  # noqa: S301 - made one line above
            pickle.dumps(self.error, protocol)
        )
        self.assertIs(errors.OptionError, type(loaded))
        self.assertEqual(self._parts(self.error), self._parts(loaded))
        self.assertIsInstance(loaded.origin, Origin)

    def test_pickles_without_an_origin(self) -> None:
        error = errors.OptionError('rbd:object_map', 'maybe', 'no', 'yes')
        loaded = pickle.loads(  # noqa: S301 - made on the same line
            pickle.dumps(error)
        )
        self.assertEqual(self._parts(error), self._parts(loaded))

    @ddt.data(copy.copy, copy.deepcopy)
    def test_error_survives_copying(
        self, how: Callable[[errors.OptionError], errors.OptionError]
    ) -> None:
        self.assertEqual(self._parts(self.error), self._parts(how(self.error)))

    def test_renamed_error_names_options(self) -> None:
        error = errors.OptionError(
            'rbd:stripe_unit',
            '64K',
            'set without rbd:stripe_count',
            'rbd:stripe_unit and rbd:stripe_count',
            Origin.BACKEND,
            errors.Code.STRIPING_INCOMPLETE,
        )
        names = {'rbd:stripe_unit': 'unit_opt', 'rbd:stripe_count': 'count'}
        self.assertEqual(
            "unit_opt = '64K' (backend configuration): set without count; "
            'allowed: unit_opt and count',
            str(error.renamed(names)),
        )
        self.assertEqual(error.code, error.renamed(names).code)
