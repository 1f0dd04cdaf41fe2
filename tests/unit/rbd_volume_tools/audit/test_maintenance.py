# SPDX-License-Identifier: Apache-2.0

import argparse

import ddt

from rbd_volume_tools.audit import maintenance
from tests.unit import base


@ddt.ddt
class OptionsTest(base.TestCase):
    def parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        maintenance.add_bytes_option(parser)
        return parser.parse_args(arguments)

    def test_rates_are_parsed(self) -> None:
        args = self.parsed('--bytes-per-second', '2G')
        self.assertEqual(2**31, args.bytes_per_second)

    @ddt.data(
        ('--bytes-per-second', '0'),
        ('--bytes-per-second', '1.5G'),
    )
    def test_invalid_rates_are_refused(
        self, arguments: tuple[str, str]
    ) -> None:
        self.assertRaises(SystemExit, self.parsed, *arguments)

    def test_number_from(self) -> None:
        number = maintenance.number_from(0)
        self.assertEqual(0, number('0'))
        self.assertRaises(argparse.ArgumentTypeError, number, '-1')
        for kind, text, message in (
            (float, 'x', 'x is not a number'),
            (int, '1.5', '1.5 is not a whole number'),
            (int, '8', '8 is not at most 7'),
            (float, 'inf', 'inf is not at least 1'),
        ):
            number = maintenance.number_from(1, most=7, kind=kind)
            error = self.assertRaises(argparse.ArgumentTypeError, number, text)
            self.assertEqual(message, str(error))
