# SPDX-License-Identifier: Apache-2.0

import copy
import pickle
from typing import Any

import hypothesis

from rbd_volume_options import errors
from tests.unit import untrusted
from tests.unit.rbd_volume_options import refusals

Origin = errors.Origin


class OptionErrorTestCase(refusals.RefusalTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.error = errors.OptionError(
            'rbd:stripe_count',
            '0',
            'not a positive whole number',
            'a whole number of at least 1',
            Origin.VOLUME_TYPE,
        )

    def test_origins_are_sorted_by_precedence(self) -> None:
        """Clients compare these words."""
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
        # Messages omit a missing origin with `if origin`.
        self.assertTrue(all(Origin))

    def test_value_is_shown_escaped_and_shortened(self) -> None:
        for value, expected in (
            ('64K', "'64K'"),
            ("it's", '"it\'s"'),
            ('a\nERROR b', r"'a\nERROR b'"),
            ('\x1b[2J\u202e\ud800', r"'\x1b[2J\u202e\ud800'"),
            (65536, "'65536'"),
            (None, "'None'"),
            ('x' * 64, f"'{'x' * 64}'"),
            ('x' * 65, f"'{'x' * 64}'... (65 characters)"),
        ):
            self.assertEqual(expected, errors.shown(value))

    @hypothesis.given(untrusted.TEXTS | untrusted.DATA)
    def test_any_value_is_one_printable_ascii_line(self, value: Any) -> None:
        shown = errors.shown(value)
        self.assertTrue(shown.isascii() and shown.isprintable(), shown)
        # An escaped character has at most ten characters (\U0010ffff).
        self.assertLess(len(shown), 10 * errors.MAX_SHOWN + 40)

    def test_text_names_key_value_origin_and_allowed(self) -> None:
        self.assertEqual(
            "rbd:stripe_count = '0' (volume type): not a positive whole "
            'number; allowed: a whole number of at least 1',
            str(self.error),
        )
        error = errors.OptionError('rbd:stripe_count', 0, 'wrong', 'right')
        self.assertEqual(
            "rbd:stripe_count = '0': wrong; allowed: right", str(error)
        )
        # oslo.config expects a ValueError for an invalid option value.
        self.assertIsInstance(error, ValueError)

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

    def test_error_survives_copying_and_pickling(self) -> None:
        unknown = errors.OptionError('rbd:object_map', 'maybe', 'no', 'yes')
        for error in (self.error, self.error.at(Origin.CLUSTER), unknown):
            copies = [copy.copy(error), copy.deepcopy(error)]
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                text = pickle.dumps(error, protocol)
                copies.append(pickle.loads(text))  # noqa: S301 - made above
            for each in copies:
                self.assertIs(errors.OptionError, type(each))
                self.assertEqual(vars(error), vars(each))
                self.assertEqual(str(error), str(each))

    def test_renamed_error_names_options(self) -> None:
        error = errors.OptionError(
            'rbd:stripe_unit',
            '64K',
            'set without rbd:stripe_count',
            'rbd:stripe_unit and rbd:stripe_count',
            Origin.BACKEND,
        )
        names = {'rbd:stripe_unit': 'unit_opt', 'rbd:stripe_count': 'count'}
        self.assertEqual(
            "unit_opt = '64K' (backend configuration): set without count; "
            'allowed: unit_opt and count',
            str(error.renamed(names)),
        )
