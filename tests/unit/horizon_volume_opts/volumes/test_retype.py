# SPDX-License-Identifier: Apache-2.0

"""The Change Volume Type form, with real Horizon views and clients."""

from typing import Any

from django.core import cache
from horizon import messages
from openstack_dashboard.dashboards.project.volumes import views
import requests.exceptions

from horizon_volume_opts import offers
from horizon_volume_opts.volumes import retype
from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

URL = '/project/volumes/v/retype/'
_ACTION = 'POST /v3/p/volumes/v/action'


@runs.tags(runs.RELEASES)
class RetypeTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.cloud.add_volume(
            'v', metadata={'rbd:cache_mode': 'writeback'}
        )
        by_type = {'default_from': 'volume type'}
        self.cloud.types += [
            fake_cloud.offered('alike', object_map={'default': None}),
            fake_cloud.offered('strict', cache_mode={'settable': False}),
            fake_cloud.offered('careful', cache_mode={'allowed': ['none']}),
            fake_cloud.offered('small', object_size={'default': 1, **by_type}),
        ]

    def page(self) -> str:
        response = self.client.get(URL)
        self.assertEqual(200, response.status_code)
        return str(response.content.decode())

    def effect(self, name: str) -> str:
        """Return the response to the script for a type."""
        status, answer = self.ask('effects', volume='v', volume_type=name)
        self.assertEqual(200, status, answer)
        return str(answer['html'])

    def post(self, name: str = 'alike') -> Any:
        data = {'name': 'v', 'volume_type': name, 'migration_policy': 'never'}
        return self.client.post(URL, data)

    def test_horizon_s_view_uses_it(self) -> None:
        self.assertTrue(
            issubclass(views.RetypeView().get_form_class(), retype.RetypeForm)
        )
        self.assertIn('data-rbd-names="volume_type"', self.page())

    def test_effect_of_each_type(self) -> None:
        self.assertEqual('', self.effect('rbd'))
        self.assertEqual('', self.effect(''))
        text = self.effect('alike')
        self.assertIn('keeps its layout', text)
        self.assertIn('stays on its back end', text)
        for name in ('strict', 'careful', 'lvm'):
            self.assertIn(
                'are removed from the volume: Cache', self.effect(name)
            )
        self.assertIn('no back end', self.effect('lvm'))
        text = self.effect('small')
        self.assertIn(
            'Layout: 8\xa0MiB objects, 64\xa0KiB\xa0×\xa08 → 1\xa0', text
        )
        self.assertIn('must be migrated', text)
        # The back ends of types are not known.
        for name in ('alike', 'strict', 'lvm'):
            self.assertIn('uses another back end', self.effect(name))

    def test_what_the_type_sets_changes_the_image(self) -> None:
        moved, copied = 'must be migrated', 'its data is copied'
        for number, (key, value, words, way, own) in enumerate(
            (
                ('object_size', 2**20, '→ 1\xa0MiB objects', copied, '1M'),
                ('data_pool', 'fast', 'another data pool', copied, None),
                (
                    'features',
                    ['deep-flatten'],
                    'adds these image',
                    copied,
                    'layering',
                ),
                (
                    'features',
                    ['exclusive-lock'],
                    'removes these image',
                    moved,
                    'layering',
                ),
                (
                    'object_map',
                    True,
                    'adds these image features: excl',
                    moved,
                    'true',
                ),
                (
                    'discard',
                    True,
                    'sets these options: Discard: Yes.',
                    moved,
                    'true',
                ),
                # Limits on reads and writes have a sentence of their own.
                ('iops_limit', 500, 'limits the volume to 500', moved, '9'),
            )
        ):
            self.volume['metadata'] = {}
            for origin in ('volume type', 'backend'):
                name = f'{number}-{origin}'
                change = {'default': value, 'default_from': origin}
                self.cloud.types.append(
                    fake_cloud.offered(
                        name, **{'object_map': {'default': None}, key: change}
                    )
                )
                cache.cache.clear()
                text = self.effect(name)
                # What a back end sets is not known.
                is_known = origin == 'volume type'
                self.assertEqual(is_known, words in text, f'{key}: {text}')
                self.assertIn(way if is_known else moved, text)
            # A key of the volume overrides its type.
            if own:
                self.volume['metadata'] = {f'rbd:{key}': own}
                text = self.effect(f'{number}-volume type')
                self.assertNotIn(words, text)

    def test_each_key_that_the_type_refuses_is_named(self) -> None:
        own = {
            'rbd:cache_mode': 'writeback',
            'rbd:object_map': 'true',
            'rbd:iops_burst': '300',
        }
        offer = offers.UserOffer.of(
            fake_cloud.offered(
                'strict',
                cache_mode={'allowed': ['none']},
                object_map={'allowed': [False]},
            )
        )
        self.assertEqual(
            ['rbd:cache_mode', 'rbd:object_map'],
            retype._removed(own, 1, offer),
        )

    def test_a_type_that_the_answer_lacks(self) -> None:
        text = self.effect('new')
        self.assertIn('did not return the options of this volume type', text)
        self.assertIn('uses another back end', text)

    def test_effect_is_shown_again_with_a_refusal(self) -> None:
        self.cloud.faults = {_ACTION: fake_cloud.Refused(400, 'because')}
        page = self.post('strict').content.decode()
        self.assertIn('are removed from the volume: Cache', page)

    def test_limits_of_the_new_type(self) -> None:
        for each in self.cloud.types:
            if each['name'] == 'alike':
                each['qos_limits'] = fake_cloud.LIMITS
        self.assertIn('limits the volume to 500 reads', self.effect('alike'))
        self.assertNotIn('limits', self.effect('small'))

    def test_limits_that_follow_from_the_size_are_shown(self) -> None:
        self.volume['metadata']['rbd:bps_limit'] = '1M'
        self.cloud.types.append(
            fake_cloud.offered(
                'by-size', iops_limit={'per_gib': 3}, bps_limit={'per_gib': 9}
            )
        )
        text = self.effect('by-size')
        self.assertIn('limits the volume to 3 operations per second', text)
        # A key of the volume overrides its type.
        self.assertNotIn('9', text)

    def test_removed_keys_are_reported(self) -> None:
        shown = []
        self.patch(
            messages, 'warning', lambda request, text: shown.append(text)
        )
        self.cloud.notice = 'the retype removes keys of the volume'
        self.check_done(self.post())
        self.assertEqual([self.cloud.notice], shown)

    def check_refused(self, text: str, field: str) -> None:
        self.cloud.faults = {_ACTION: fake_cloud.Refused(400, text)}
        response = self.post()
        self.assertEqual(200, response.status_code)
        errors = response.context['form'].errors
        self.assertEqual({field}, set(errors))
        self.assertIn('because', errors[field][0])

    def test_refused_by_cinder_at_its_field(self) -> None:
        self.check_refused(
            "RBD volume option refused: rbd:object_size = '1M': because",
            'volume_type',
        )
        self.check_refused(
            'because: set migration_policy to on-demand', 'migration_policy'
        )

    def test_other_failures_are_as_stock_shows_them(self) -> None:
        self.cloud.faults = {_ACTION: fake_cloud.Refused(409, 'no')}
        self.check_done(self.post())

    def test_a_line_where_cinder_does_not_tell(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': requests.exceptions.Timeout('slow')
        }
        page = self.page()
        self.assertNotIn('data-rbd-group', page)
        self.assertIn('Cinder did not return the options of the', page)
        self.check_done(self.post())

    def test_stock_form_without_the_extension(self) -> None:
        self.cloud.faults = {
            'GET /v3/p/os-rbd': fake_cloud.Refused(404, 'no extension')
        }
        self.assertNotIn('data-rbd-', self.page())
