# SPDX-License-Identifier: Apache-2.0

"""The Create Volume form keeps all choices or shows an error."""

from typing import Any

from django.core import cache
import requests.exceptions

from horizon_volume_opts.volumes import new_volume
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts.volumes import test_create


class KeptTestCase(test_create.FormTestCase):
    def check_kept(self, response: Any) -> None:
        page = response.content.decode()
        self.assertIn('value="1M"', page)
        self.assertEqual({}, self.cloud.volumes)

    def test_refused_where_cinder_no_longer_tells(self) -> None:
        self.shown()
        for fault in (
            requests.exceptions.Timeout('slow'),
            fake_cloud.Refused(500, 'broken'),
        ):
            cache.cache.clear()
            self.cloud.faults = {test_create.ASK: fault}
            # The second response uses the cached failure.
            for _ in range(2):
                response = self.post(rbd_object_size='1M')
                self.check_refused(
                    response, 'rbd_object_size', 'value cannot be checked'
                )
                self.check_kept(response)
                page = response.content.decode()
                self.assertNotIn('hidden disabled', page)
                self.assertNotIn('gets the defaults of its type', page)
        self.cloud.faults = {}
        cache.cache.clear()
        self.check_done(self.post(rbd_object_size='1M'))
        self.assertEqual({'rbd:object_size': '1M'}, self.made()['metadata'])

    def test_refused_where_the_extension_is_gone(self) -> None:
        self.cloud.faults = {
            test_create.ASK: fake_cloud.Refused(404, 'not found')
        }
        response = self.post(rbd_object_size='1M')
        self.check_refused(
            response, 'rbd_object_size', 'has no RBD volume options'
        )
        self.check_kept(response)

    def test_refused_where_it_is_no_longer_offered(self) -> None:
        self.cloud.types = [
            fake_cloud.offered('rbd', object_size={'settable': False})
        ]
        response = self.post(rbd_object_size='1M')
        self.check_refused(response, 'rbd_object_size', 'tenants may not')
        self.check_kept(response)

    def test_default_drops_what_was_selected_before(self) -> None:
        """A user who selects it need not wait for the script."""
        self.check_done(self.post(rbd_choice='default', rbd_object_size='1M'))
        self.assertEqual({}, self.made()['metadata'])

    def test_refused_where_our_own_check_fails(self) -> None:
        self.patch(new_volume.NewVolume, 'check', None)
        response = self.post(rbd_object_size='1M')
        self.check_refused(response, '__all__', 'cannot be checked')
        self.assertEqual({}, self.cloud.volumes)
        self.assertIn('failed in CreateForm', self.log.output)
        self.check_done(self.post())

    def test_stock_form_where_our_group_fails(self) -> None:
        self.patch(new_volume.NewVolume, 'of_values', None)
        page = self.shown()
        self.assertIn('id_size', page)
        self.assertNotIn('rbd-volume-options', page)
        self.check_done(self.post())
