#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Unit tests of cinder_rbd_ext.api.refusals."""

from typing import Any

import webob.exc

from cinder_rbd_ext.api import refusals
from rbd_volume_options import errors
from tests.unit import base


class RefusalsTest(base.TestCase):
    """Errors of the rules become HTTP responses."""

    def _refused(self, *arguments: Any) -> str:
        def raises() -> None:
            with refusals.bad_request(*arguments):
                raise errors.OptionError('rbd:x', '1', 'wrong', 'right')

        error = self.assertRaises(webob.exc.HTTPBadRequest, raises)
        text: str = error.explanation
        return text

    def test_whole_text(self) -> None:
        wanted = (
            "RBD volume option refused: rbd:x = '1': wrong; allowed: right"
        )
        self.assertEqual(wanted, self._refused())
        self.assertEqual(f'{wanted}; and more', self._refused('and more'))

    def test_other_errors_pass(self) -> None:
        def raises() -> None:
            with refusals.bad_request():
                raise KeyError('x')

        self.assertRaises(KeyError, raises)

    def test_unavailable(self) -> None:
        answer = refusals.unavailable('Nobody knows.')
        self.assertEqual(503, answer.status_int)
        self.assertIn('Nobody knows.', answer.explanation)
