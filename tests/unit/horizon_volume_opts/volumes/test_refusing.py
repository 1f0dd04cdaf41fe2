# SPDX-License-Identifier: Apache-2.0

"""Test functions of Horizon's API whose refusals a form shows."""

import types
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from horizon import messages
from openstack_dashboard.api import cinder

from horizon_volume_opts.volumes import refusing
from tests.unit.horizon_volume_opts import horizon_case


class RefusingTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.request = types.SimpleNamespace()
        self.answer: Any = None
        self.patch(cinder, 'volume_extend', self._extend)
        refusing.wrap('volume_extend')

    def _extend(self, request: Any, *args: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def extend(self) -> Any:
        return cinder.volume_extend(self.request, 'v', 2)

    def test_others_get_the_exception_of_the_client(self) -> None:
        self.answer = cinder_exceptions.BadRequest(400, 'why')
        self.assertRaises(cinder_exceptions.BadRequest, self.extend)
        with refusing.showing(self.request):
            self.answer = cinder_exceptions.OverLimit(413, 'why')
            self.assertRaises(cinder_exceptions.OverLimit, self.extend)

    def test_handlers_of_stock_forms_let_a_refusal_pass(self) -> None:
        self.answer = cinder_exceptions.BadRequest(400, 'why')
        refused = None
        try:
            with refusing.showing(self.request):
                try:
                    self.extend()
                except Exception:
                    self.fail('hidden by a handler')
        except refusing.RefusedRequest as error:
            refused = error.refusal.text
        self.assertEqual('why', refused)
        # A later request of another form.
        self.assertRaises(cinder_exceptions.BadRequest, self.extend)

    def test_notices_are_shown(self) -> None:
        shown: list[str] = []
        self.patch(messages, 'warning', lambda _, text: shown.append(text))
        for header, expected in (
            ('299 - "removed"', ['removed']),
            ('odd', []),
            (None, []),
        ):
            shown.clear()
            headers = {'Warning': header} if header else {}
            self.answer = (types.SimpleNamespace(headers=headers), None)
            with refusing.showing(self.request):
                self.assertIs(self.answer, self.extend())
            self.assertEqual(expected, shown)
