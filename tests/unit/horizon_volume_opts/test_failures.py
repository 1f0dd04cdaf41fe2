# SPDX-License-Identifier: Apache-2.0

"""The failures that forms handle, from Horizon's client of Cinder."""

from openstack_dashboard.api import cinder
import requests.exceptions

from horizon_volume_opts import failures
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case


class FailuresTestCase(horizon_case.HorizonTestCase):
    def test_of_a_request(self) -> None:
        for fault in (
            fake_cloud.Refused(500, 'broken'),
            fake_cloud.Refused(404, 'not found'),
            requests.exceptions.Timeout('slow'),
            requests.exceptions.ConnectionError('nobody there'),
        ):
            self.cloud.faults = {'GET /v3/p/volumes/': fault}
            self.assertRaises(
                failures.OF_CINDER,
                cinder.volume_get,
                self.request_to('/'),
                'v',
            )
