# SPDX-License-Identifier: Apache-2.0

"""Stock pages when code of the plug-in fails."""

from horizon_volume_opts import guard
from tests.unit import base


class GuardTest(base.TestCase):
    def test_failure_is_logged_with_its_part(self) -> None:
        fields: dict[str, str] = {}
        with guard.stock_page('Create Volume'):
            fields.pop('type')
        self.assertIn('failed in Create Volume', self.log.output)
        self.assertIn("KeyError: 'type'", self.log.output)

    def test_guarded_function_returns_another_value(self) -> None:
        @guard.otherwise('-')
        def brief(text: str) -> str:
            return text.strip()

        self.assertEqual('x', brief(' x'))
        self.assertEqual('-', brief(None))
