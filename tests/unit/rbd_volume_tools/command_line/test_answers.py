# SPDX-License-Identifier: Apache-2.0

import json

import ddt
import hypothesis
from hypothesis import strategies
from osc_lib import exceptions
import requests

from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import printable
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.fleet import fake_cloud


def _response(status: int, body: bytes) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = body
    return response


@ddt.ddt
class AnswersTest(untrusted.TestCase):
    @ddt.data(
        (400, b'{"x": {"code": 400, "message": "because"}}', 'because'),
        (502, b'<html>', '<html>'),
        (502, b'<p>\x1b[2J</p>', r'<p>\x1b[2J</p>'),
        (500, b'[]', '[]'),
    )
    @ddt.unpack
    def test_refusal_shows_message_and_status(
        self, status: int, body: bytes, text: str
    ) -> None:
        error = self.assertRaises(
            exceptions.CommandError, answers.record, _response(status, body)
        )
        self.assertEqual(f'{text} (HTTP {status})', str(error))

    @hypothesis.given(
        strategies.sampled_from((200, 400, 500)),
        untrusted.BYTES | untrusted.DATA.map(lambda x: json.dumps(x).encode()),
    )
    @hypothesis.example(200, b'<p>\x1b[2J</p>')
    def test_any_response_is_a_record_or_one_line(
        self, status: int, body: bytes
    ) -> None:
        try:
            answers.record(_response(status, body))
        except exceptions.CommandError as error:
            self.assertEqual(str(error), printable.text(str(error)))

    def test_body_of_a_response_is_returned(self) -> None:
        self.assertEqual({}, answers.record(_response(200, b'{}')))

    @ddt.data(True, False)
    def test_missing_extension_is_an_error(self, loaded: bool) -> None:
        api = fake_cloud.Service(loaded)
        self.assertIs(loaded, answers.has_extension(api))
        if loaded:
            answers.need_extension(api)
            return
        error = self.assertRaises(
            exceptions.CommandError, answers.need_extension, api, 'Do this'
        )
        self.assertRegex(
            str(error), r'^API extension not loaded: .*\. Do this$'
        )

    def test_refusal_is_not_a_missing_extension(self) -> None:
        class Refusing(fake_cloud.Service):
            def get(
                self, path: str, endpoint_override: str = ''
            ) -> requests.Response:
                return fake_cloud.fault(401, 'who are you?')

        error = self.assertRaises(
            exceptions.CommandError, answers.has_extension, Refusing()
        )
        self.assertEqual('who are you? (HTTP 401)', str(error))
