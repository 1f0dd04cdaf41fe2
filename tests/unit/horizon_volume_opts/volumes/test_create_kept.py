# SPDX-License-Identifier: Apache-2.0

"""The Create Volume form keeps all choices or shows an error."""

from typing import Any

from django.core import cache
import requests.exceptions

from rbd_volume_options import registry
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts.volumes import test_create


class ExplainedTestCase(test_create.FormTestCase):
    def test_why_no_type_offers_anything(self) -> None:
        broken = fake_cloud.offered('broken')
        del broken['options']['rbd:stripe_unit']['settable']
        words = [key.partition(':')[2] for key in registry.volume_keys()]
        self.cloud.types = [
            fake_cloud.not_offered('rbd'),
            fake_cloud.offered(
                'strict', **{word: {'settable': False} for word in words}
            ),
            broken,
        ]
        page = self.shown()
        self.assertNotIn('rbd_object_size', page)
        reasons = {k: v['reason'] for k, v in self.data(page).items()}
        self.assertEqual({'rbd', 'strict', 'broken'}, set(reasons))
        self.assertIn('no back end of this volume type', reasons['rbd'])
        self.assertIsNone(reasons['strict'])
        self.assertIn('is invalid', reasons['broken'])
        self.assertIn('for volume type broken is invalid', self.log.output)


class KeptTestCase(test_create.FormTestCase):
    def check_kept(self, response: Any) -> None:
        page = response.content.decode()
        self.assertIn('<option value="1M" selected>', page)
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

    def test_features_without_their_choice(self) -> None:
        response = self.post(rbd_features=['exclusive-lock'])
        self.check_refused(response, 'rbd_choose_features', 'Select this')
