# SPDX-License-Identifier: Apache-2.0

"""The Extend Volume form, with real Horizon views and clients."""

from typing import Any

from django.core import cache
import requests.exceptions

from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

URL = '/project/volumes/v/extend/'
_ORIGINS = f'{fake_cloud.ALIAS}:origins'
_ACTION = 'POST /v3/p/volumes/v/action'


@runs.tags(runs.RELEASES)
class ExtendTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        # 64 KiB x 3: the size must be a multiple of 3 GiB.
        self.volume = self.cloud.add_volume(
            'v',
            size=3,
            **{
                f'{fake_cloud.ALIAS}:stripe_count': 3,
                _ORIGINS: {'striping': 'volume metadata'},
            },
        )

    def page(self) -> str:
        response = self.client.get(URL)
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def post(self, size: int) -> Any:
        return self.client.post(
            URL, {'name': 'v', 'orig_size': '3', 'new_size': str(size)}
        )

    def check_refused(self, response: Any, words: str) -> None:
        self.assertEqual(200, response.status_code)
        errors = response.context['form'].errors
        self.assertEqual({'new_size'}, set(errors))
        self.assertIn(words, errors['new_size'][0])
        self.assertEqual(3, self.volume['size'])

    def asked(self) -> bool:
        return _ACTION in self.cloud.asked

    def test_allowed_sizes_are_shown(self) -> None:
        page = self.page()
        self.assertIn('to be a multiple of 3 GiB, such as 6 GiB', page)

    def test_no_line_where_sizes_are_not_restricted(self) -> None:
        offer = fake_cloud.offered('rbd')
        timeout: Exception = requests.exceptions.Timeout('slow')
        before = dict(self.volume)
        for types, changes, faults in (
            ([offer], {_ORIGINS: {'striping': 'Ceph configuration'}}, {}),
            ([{**offer, 'require_whole_stripes': False}], {}, {}),
            # An offer with a reason says nothing about the back end.
            ([fake_cloud.not_offered('rbd')], {}, {}),
            ([offer], {}, {'GET /v3/p/os-rbd': timeout}),
            # There is no record of the volume.
            ([offer], {f'{fake_cloud.ALIAS}:object_size': None}, {}),
        ):
            cache.cache.clear()
            self.cloud.types, self.cloud.faults = types, faults
            self.volume.update({**before, **changes})
            self.assertNotIn('data-rbd-note', self.page(), str(changes))
            self.check_done(self.post(4))
            self.assertEqual(4, self.volume['size'])

    def test_striping_of_the_type_restricts_the_size(self) -> None:
        self.volume[_ORIGINS] = {'striping': 'volume type'}
        self.assertIn('to be a multiple of 3 GiB', self.page())

    def test_a_refusal_of_cinder_has_the_allowed_sizes(self) -> None:
        refusal = (
            "RBD volume option refused: rbd:stripe_count = '3' (volume "
            'metadata): 10 GiB is not a multiple of 64 KiB x 3'
        )
        self.cloud.faults = {_ACTION: fake_cloud.Refused(400, refusal)}
        self.check_refused(self.post(10), 'allowed: 9 or 12 GiB')

    def test_what_the_back_end_of_the_volume_accepts(self) -> None:
        """Another back end of the type requires whole stripes."""
        self.check_done(self.post(10))
        self.assertEqual(10, self.volume['size'])

    def test_too_large_for_its_object_map(self) -> None:
        self.volume[_ORIGINS] = {'striping': 'Ceph configuration'}
        name = f'{fake_cloud.ALIAS}:'
        self.volume.update(
            {
                f'{name}object_size': 4096,
                f'{name}stripe_unit': 4096,
                f'{name}stripe_count': 1,
                f'{name}features': ['exclusive-lock', 'object-map'],
            }
        )
        self.check_refused(self.post(999), 'up to 256,000,000 objects')

    def test_refused_by_cinder_at_the_field(self) -> None:
        self.volume[_ORIGINS] = {'striping': 'Ceph configuration'}
        text = "rbd:stripe_count = '3' (backend configuration): because"
        for answer, words in (
            (f'RBD volume option refused: {text}', 'because'),
            ('not today', 'not today'),
        ):
            self.cloud.faults = {_ACTION: fake_cloud.Refused(400, answer)}
            self.check_refused(self.post(10), words)

    def test_other_failures_are_as_stock_shows_them(self) -> None:
        self.cloud.faults = {_ACTION: fake_cloud.Refused(409, 'no')}
        self.check_done(self.post(6))
