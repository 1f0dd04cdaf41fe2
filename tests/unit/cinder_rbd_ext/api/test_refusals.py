# SPDX-License-Identifier: Apache-2.0

import sys

from cinder import exception
from cinder.volume import rpcapi
from oslo_messaging._drivers import common as transported

from cinder_rbd_ext import releases
from cinder_rbd_ext.api import refusals
from tests.unit import base
from tests.unit.cinder_rbd_ext.api import base as api_base

_CONNECTOR = {'host': 'compute-7'}


class RefusalsTest(base.TestCase):
    def test_unavailable_is_a_503_with_reason(self) -> None:
        answer = refusals.unavailable('Nobody knows.')
        self.assertEqual(503, answer.status_int)
        self.assertIn('Nobody knows.', answer.explanation)


def _as_over_rpc() -> Exception:
    """Return a refusal by the driver as RPC gives it to the API."""
    try:
        raise exception.InvalidVolume(reason='not attached: no mode')
    except exception.InvalidVolume:
        data = transported.serialize_remote_exception(sys.exc_info())
    error: Exception = transported.deserialize_remote_exception(
        data, ['cinder.exception']
    )
    return error


class RefusalByDriverTest(api_base.ApiTestCase):
    """Responses to attachments that the driver refuses."""

    def setUp(self) -> None:
        super().setUp()
        client = self.mock_object(
            rpcapi.VolumeAPI, '_get_cctxt', autospec=True
        ).return_value
        client.call.side_effect = _as_over_rpc()
        self.refused_volume = self.volume()
        self.attachment = self.add_attachment(
            self.refused_volume.id, 'reserved'
        )

    def test_transported_refusal_has_a_traceback(self) -> None:
        self.assertIn('Traceback', str(_as_over_rpc()))

    def test_response_has_the_reason_alone(self) -> None:
        connector = {'connector': _CONNECTOR}
        for method, path, body in (
            (
                'PUT',
                f'/attachments/{self.attachment.id}',
                {'attachment': connector},
            ),
            (
                'POST',
                f'/volumes/{self.refused_volume.id}/action',
                {'os-initialize_connection': connector},
            ),
        ):
            response = self.call(method, path, body)
            (fault,) = response.json.values()
            self.assertIn(
                'Invalid volume: not attached: no mode', fault['message']
            )
            self.assertNotIn('Traceback', response.text)
            # Cinder 26 (2025.1) has status 500 for a refused attachment.
            statuses = {400, 500} if releases.RELEASE == 26 else {400}
            self.assertIn(response.status_int, statuses)
