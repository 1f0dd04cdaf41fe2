# SPDX-License-Identifier: Apache-2.0

"""The list of hooks and its execution."""

from django.utils import module_loading

from horizon_volume_opts import replacements
from tests.unit import base

ran: list[str] = []


def good() -> None:
    """Stand in for a hook that succeeds."""
    ran.append('good')


def bad() -> None:
    """Stand in for a hook that fails on an unknown Horizon release."""
    raise AttributeError('no such view')


class RunTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        ran.clear()

    def test_each_listed_hook_is_there(self) -> None:
        for name in replacements.HOOKS:
            self.assertTrue(callable(module_loading.import_string(name)))

    def test_one_that_fails_keeps_no_other_from_running(self) -> None:
        replacements.run(
            [f'{__name__}.bad', f'{__name__}.none', f'{__name__}.good']
        )
        self.assertEqual(['good'], ran)
        self.assertIn(f'{__name__}.bad failed', self.log.output)
        self.assertIn('no such view', self.log.output)
        self.assertIn(f'{__name__}.none failed', self.log.output)
