# SPDX-License-Identifier: Apache-2.0

"""Limits on reads and writes in words."""

import ddt
from django.utils import translation

from horizon_volume_opts import qos
from tests.unit import base


@ddt.ddt
class TextTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # A test of Horizon may have left another language active.
        english = translation.override('en')
        english.__enter__()
        self.addCleanup(english.__exit__, None, None, None)

    @ddt.data(
        ('total_iops_sec', '5000', '5,000 operations per second'),
        ('read_iops_sec', '500', '500 reads per second'),
        ('write_iops_sec_max', '9', '9 writes per second for a short time'),
        ('total_bytes_sec', '104857600', '100 MiB per second'),
        ('read_bytes_sec', '100000000', '100 MB per second for reads'),
        (
            'write_bytes_sec_per_gb',
            '1048576',
            '1 MiB per second for writes for each GiB of the volume',
        ),
        (
            'total_iops_sec_per_gb_min',
            '10',
            'at least 10 operations per second',
        ),
        ('total_bytes_sec', '1234', '1234 B per second'),
        ('total_iops_sec', 'many', 'many operations per second'),
        ('total_iops_sec', '0', '0 operations per second'),
        ('something_else', '5', ''),
    )
    @ddt.unpack
    def test_limit_is_shown_in_words(
        self, name: str, value: str, text: str
    ) -> None:
        self.assertEqual(text, qos.text({name: value}))

    def test_in_german(self) -> None:
        with translation.override('de'):
            self.assertIn('5.000 ', qos.text({'total_iops_sec': '5000'}))
