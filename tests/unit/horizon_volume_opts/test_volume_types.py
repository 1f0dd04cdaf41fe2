# SPDX-License-Identifier: Apache-2.0

"""The form *RBD Options* of a volume type."""

from typing import Any

from openstack_dashboard.dashboards.admin.volume_types import tables
import requests.exceptions

from horizon_volume_opts import volume_types
from tests import runs
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case

_TYPE = 'id-of-rbd'
_PAGE = f'/admin/volume_types/{_TYPE}/rbd_options/'


@runs.tags(runs.RELEASES)
class TypeOptionsTestCase(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.login('admin')
        self.cloud.specs[_TYPE] = {'volume_backend_name': 'rbd'}

    def form(self) -> Any:
        return self.client.get(_PAGE).context['form']

    def post(self, **data: Any) -> Any:
        return self.client.post(_PAGE, data)

    def specs(self) -> dict[str, str]:
        """Return the extra specs that begin with ``rbd:``."""
        specs = self.cloud.specs[_TYPE]
        return {k: v for k, v in specs.items() if k.startswith('rbd:')}

    def changes(self) -> list[str]:
        """Return the requests that change something."""
        return [each for each in self.cloud.asked if not each.startswith('GE')]

    def test_all_options_are_saved_in_one_request(self) -> None:
        self.check_done(
            self.post(
                rbd_object_size='1M',
                rbd_stripe_unit='64K',
                rbd_stripe_count='8',
                rbd_features=['exclusive-lock', 'object-map'],
                rbd_iops_limit='100',
                rbd_tenant_options=['rbd:limits', 'rbd:cache_mode'],
            )
        )
        self.assertEqual(
            {
                'rbd:object_size': '1M',
                'rbd:stripe_unit': '64K',
                'rbd:stripe_count': '8',
                'rbd:features': 'layering,exclusive-lock,object-map',
                'rbd:iops_limit': '100',
                'rbd:tenant_options': 'rbd:limits,rbd:cache_mode',
            },
            self.specs(),
        )
        self.assertEqual(
            [f'POST /v3/p/types/{_TYPE}/extra_specs'], self.changes()
        )

    def test_empty_fields_remove_a_pair_as_one(self) -> None:
        self.cloud.specs[_TYPE] |= {
            'rbd:object_size': '1M',
            'rbd:stripe_unit': '64K',
            'rbd:stripe_count': '8',
            'rbd:features': 'layering',
        }
        self.check_done(self.post(rbd_object_map='true'))
        self.assertEqual({'rbd:object_map': 'true'}, self.specs())
        # The new value contradicts what is removed, and a stripe unit may not
        # fit the object size of the back end.
        self.assertEqual(
            ['rbd:stripe_unit', 'rbd:object_size', 'rbd:features', ''],
            [each.partition('extra_specs/')[2] for each in self.changes()],
        )

    def test_what_is_not_changed_is_not_sent(self) -> None:
        stored = {
            'rbd:object_size': '1M',
            'rbd:features': 'object-map,exclusive-lock,layering',
            'rbd:tenant_options': 'rbd:iops_*,rbd:object_size',
        }
        self.cloud.specs[_TYPE] |= stored
        fields = self.form().fields
        data = {
            name: field.initial
            for name, field in fields.items()
            if field.initial
        }
        self.check_done(self.post(**data))
        self.assertEqual(stored, self.specs())
        self.assertEqual([], self.changes())

    def test_no_keys_for_tenants_differs_from_the_default(self) -> None:
        self.check_done(self.post(rbd_tenant_options=['none']))
        self.assertEqual({'rbd:tenant_options': ''}, self.specs())
        field = self.form().fields['rbd_tenant_options']
        self.assertEqual(['none'], field.initial)
        self.check_done(self.post())
        self.assertEqual({}, self.specs())

    def check_refused(self, field: str, words: str, **data: Any) -> None:
        response = self.post(**data)
        errors = response.context['form'].errors
        self.assertEqual([field], list(errors))
        self.assertIn(words, str(errors))
        self.assertEqual({}, self.specs())

    def test_an_invalid_value_is_refused_at_its_field(self) -> None:
        for field, words, data in (
            ('rbd_object_size', 'power of two', {'rbd_object_size': '3M'}),
            ('rbd_stripe_unit', 'set without', {'rbd_stripe_unit': '64K'}),
            ('rbd_features', 'exclusive-lock', {'rbd_features': 'object-map'}),
            (
                'rbd_tenant_options',
                'none',
                {'rbd_tenant_options': ['none', 'rbd:limits']},
            ),
        ):
            self.check_refused(field, words, **data)
        self.assertEqual([], self.changes())

    def test_a_refusal_of_cinder_is_at_its_field(self) -> None:
        words = (
            "RBD volume option refused: rbd:stripe_count = '100': above the "
            'maximum; allowed: 1 to 64'
        )
        path = f'POST /v3/p/types/{_TYPE}/extra_specs'
        self.cloud.faults[path] = fake_cloud.Refused(400, words)
        pair = {'rbd_stripe_unit': '64K', 'rbd_stripe_count': '100'}
        self.check_refused('rbd_stripe_count', '1 to 64', **pair)
        self.cloud.faults[path] = fake_cloud.Refused(403, 'forbidden')
        self.check_refused('__all__', 'forbidden', **pair)
        self.cloud.faults[path] = requests.exceptions.ConnectTimeout()
        self.check_refused('__all__', 'RBD Options', **pair)

    def test_data_pools_are_those_of_all_back_ends(self) -> None:
        self.cloud.types = [
            fake_cloud.offered('rbd', data_pool={'candidates': ['ec', 'hdd']})
        ]
        self.cloud.specs[_TYPE]['rbd:data_pool'] = 'gone'
        page = self.client.get(_PAGE).content.decode()
        for pool in ('ec', 'hdd', 'gone'):
            self.assertIn(f'<option value="{pool}"', page)
        self.assertIn('Do not select the pool of another service', page)

    def test_defaults_are_those_of_the_back_end(self) -> None:
        page = self.client.get(_PAGE).content.decode()
        self.assertIn('Default: 4 MiB (set by the back end)', page)
        self.assertIn('Allowed: a power of two from 4 KiB to 32 MiB.', page)

    def test_cinder_without_the_extension_has_the_form(self) -> None:
        path = 'GET /v3/p/os-rbd-volume-options'
        self.cloud.faults[path] = requests.exceptions.ConnectTimeout()
        self.check_done(self.post(rbd_data_pool='ec'))
        self.assertEqual({'rbd:data_pool': 'ec'}, self.specs())

    def test_unreadable_type_leads_back_to_the_table(self) -> None:
        path = f'GET /v3/p/types/{_TYPE}/extra_specs'
        self.cloud.faults[path] = fake_cloud.Refused(404, 'gone')
        response = self.client.get(_PAGE)
        self.assertIn('/admin/volume_types/', str(response.headers))

    def test_link_is_at_types_with_options(self) -> None:
        self.assertIn(
            volume_types.ChangeTypeOptions,
            tables.VolumeTypesTable._meta.row_actions,
        )
        action = volume_types.ChangeTypeOptions()
        request = self.request_to('/admin/volume_types/')
        for name, expected in (('rbd', True), ('lvm', False)):
            volume_type = FakeType(f'id-of-{name}')
            self.assertIs(expected, action.allowed(request, volume_type))
        self.cloud.faults['GET /v3/p/os'] = requests.exceptions.ReadTimeout()
        other = self.request_to('/admin/volume_types/')
        other.user.project_id = 'another'
        self.assertFalse(action.allowed(other, FakeType(_TYPE)))


class FakeType:
    """A volume type of the table."""

    def __init__(self, ident: str) -> None:
        self.id = ident
