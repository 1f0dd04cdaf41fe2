# SPDX-License-Identifier: Apache-2.0

import argparse
import contextlib
import io

import ddt
from osc_lib import exceptions

from rbd_volume_options import registry
from rbd_volume_tools.client import metadata
from tests.unit import base


@ddt.ddt
class MetadataTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.parser = metadata.short_errors(argparse.ArgumentParser('x y'))
        options = map(registry.OPTIONS.__getitem__, registry.volume_keys())
        metadata.add_options(self.parser, options)

    def requested(self, *words: str) -> dict[str, str]:
        return metadata.requested(self.parser.parse_args(words))

    @ddt.data(
        ('stripe_unit=64K', 'use rbd:stripe_unit'),
        ('rbd:stripeunit=64K', 'Did you mean rbd:stripe_unit?'),
        ('rbd:colour=blue', 'openstack volume rbd options'),
        ('rbd:stripe_count=0', 'rbd:stripe_count'),
        ('stripe_unit', '<key>=<value>'),
        ('=64K', '<key>=<value>'),
    )
    @ddt.unpack
    def test_mistake_is_refused_with_what_was_probably_meant(
        self, word: str, text: str
    ) -> None:
        error = self.assertRaises(
            exceptions.CommandError, self.requested, '--property', word
        )
        self.assertIn(text, str(error))
        self.assertLess(len(str(error)), 250)

    def test_name_without_the_prefix_is_set_if_that_is_meant(self) -> None:
        words = ('--property', 'stripe_unit=64K', '--allow-any-property')
        self.assertEqual({'stripe_unit': '64K'}, self.requested(*words))

    def test_other_metadata_is_passed_on(self) -> None:
        self.assertEqual(
            {'colour': 'a=b', 'rbd:stripe_unit': '64K'},
            self.requested(
                *('--property', 'colour=a=b'),
                *('--property', 'rbd:stripe_unit=64K'),
            ),
        )

    def test_error_of_an_argument_is_two_lines(self) -> None:
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            self.assertRaises(SystemExit, self.requested, '--stripe-count=0')
        first, last = shown.getvalue().splitlines()
        self.assertIn('--stripe-count', first)
        self.assertEqual('Help: x y --help', last)
