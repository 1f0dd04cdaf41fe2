# SPDX-License-Identifier: Apache-2.0

from typing import Any
from urllib import parse

from tests.unit.cinder_rbd_ext.api import base

_GOOD = {
    'volume_backend_name': 'rbd',
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
    'rbd:tenant_options': 'rbd:cache_mode',
    'rbd:data_pool': 'ec',
}
_BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({'RBD:object_map': 'true'}, 'the exact spelling is rbd:object_map'),
    ({'rbd:object_map': None}, 'not a string'),
    ({'rbd:object_map': None, 'rbd:stripe_unit': '64K'}, 'not a string'),
    (
        {
            'rbd:stripe_unit': '1M',
            'rbd:stripe_count': '3',
            'provisioning:max_vol_size': '2',
        },
        'a multiple of 3 GiB, and the volume type allows 1 to 2',
    ),
    (
        {
            'rbd:object_size': '4K',
            'rbd:object_map': 'true',
            'provisioning:min_vol_size': '2048',
        },
        '256,000,000',
    ),
    ({'rbd:stripes': '8'}, 'unknown key'),
    ({'rbd:stripe_unit': '64K'}, 'set without rbd:stripe_count'),
    ({'rbd:object_size': '3M'}, 'a power of two'),
    ({'rbd:data_pool': 'a/b'}, "rbd:data_pool = 'a/b' (volume type): not a"),
    (
        {'rbd:tenant_options': 'rbd:data_pool'},
        'not a key that tenants can set',
    ),
    (
        {'rbd:stripe_unit': '8M', 'rbd:stripe_count': '2'},
        'not a factor of the object size',
    ),
    ({'rbd:stripe_unit': '4K', 'rbd:stripe_count': '65'}, '1 to 64'),
    ({'rbd:cache_mode': 'unsafe'}, 'not allowed by this back end'),
    (
        {'rbd:object_map': 'true', 'multiattach': '<is> True'},
        'multi-attach',
    ),
    (
        {'rbd:object_map': 'true', 'volume_backend_name': 'fake'},
        'no back end of the volume type',
    ),
)


class SpecsTest(base.ApiTestCase):
    """Extra specs of new and existing volume types, by an administrator."""

    def setUp(self) -> None:
        super().setUp()
        self.member, self.app = self.app, self.admin

    def test_create_with_specs(self) -> None:
        for number, (bad, words) in enumerate(_BAD):
            specs = {'volume_backend_name': 'rbd', **bad}
            name = f'bad{number}'
            body = {'volume_type': {'name': name, 'extra_specs': specs}}
            self.refused(400, words, 'POST', '/types', body)
        names = {
            each['name'] for each in self.ok('GET', '/types')['volume_types']
        }
        self.assertEqual(set(), {n for n in names if n.startswith('bad')})
        body = {'volume_type': {'name': 'good', 'extra_specs': _GOOD}}
        self.ok('POST', '/types', body)

    def test_add_specs(self) -> None:
        path = f'/types/{self.types["rbd"]}/extra_specs'
        for bad, words in _BAD:
            body = {'extra_specs': bad}
            self.refused(400, words, 'POST', path, body)
        self.ok('POST', path, {'extra_specs': _GOOD})

    def test_one_spec(self) -> None:
        path = f'/types/{self.types["striped"]}/extra_specs'
        for key, value, words in (
            ('rbd:stripe_unit', '3K', 'not a power of two'),
            ('rbd:stripe_count', '65', '1 to 64'),
            ('rbd:object_size', '32K', 'not a factor'),
        ):
            one = f'{path}/{key}'
            self.refused(400, words, 'PUT', one, {key: value})
        one = f'{path}/rbd:stripe_count'
        self.ok('PUT', one, {'rbd:stripe_count': '4'})

    def test_layout_that_suits_some_sizes(self) -> None:
        self.set_specs('rbd', provisioning__max_vol_size='3')
        path = f'/types/{self.types["rbd"]}/extra_specs'
        specs = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '3'}
        self.ok('POST', path, {'extra_specs': specs})

    def test_deletion_of_one_of_a_pair(self) -> None:
        path = f'/types/{self.types["striped"]}/extra_specs'
        for key in ('rbd:stripe_unit', 'rbd:stripe_count'):
            self.refused(400, 'set without', 'DELETE', f'{path}/{key}')
        # WSGI decodes the path as ISO 8859-1.
        for key, exact in (
            ('RBD:stripe_unit', 'rbd:stripe_unit'),
            ('rbd:d%C3%80ta_pool', 'rbd:data_pool'),
        ):
            self.refused(
                400,
                f'the exact spelling is {exact}',
                'DELETE',
                f'{path}/{key}',
            )
            one = {parse.unquote(key): '4K'}
            self.refused(400, 'exact', 'PUT', f'{path}/{key}', one)
        self.ok('DELETE', f'{path}/rbd:tenant_options')
        self.refused(404, '', 'DELETE', f'{path}/rbd:x')

    def test_deletion_of_a_pair(self) -> None:
        path = f'/types/{self.types["striped"]}/extra_specs'
        one = f'{path}/rbd:stripe_count?with_partner'
        self.refused(400, 'not a bool', 'DELETE', f'{one}=x')
        self.refused(400, 'set without', 'DELETE', f'{one}=false')
        self.refused(403, '', 'DELETE', f'{one}=true', app=self.member)
        self.ok('DELETE', f'{one}=true')
        left = self.ok('GET', path)['extra_specs']
        self.assertEqual(
            set(), {k for k in left if k.startswith('rbd:stripe')}
        )
        self.refused(404, '', 'DELETE', f'{one}=true')

    def test_partner_of_what_has_none(self) -> None:
        self.set_specs('rbd', rbd__object_map='true')
        path = f'/types/{self.types["rbd"]}/extra_specs'
        one = f'{path}/rbd:object_map?with_partner=true'
        self.ok('DELETE', one)

    def test_deletion_that_breaks_what_is_left(self) -> None:
        self.set_specs('striped', rbd__stripe_unit='8M', rbd__object_size='8M')
        path = f'/types/{self.types["striped"]}/extra_specs'
        one = f'{path}/rbd:object_size'
        self.refused(400, 'not a factor', 'DELETE', one)

    def test_wrong_specs_can_be_deleted_one_by_one(self) -> None:
        self.set_specs('rbd', rbd__stripe_unit='64K', rbd__x='1', RBD__y='1')
        path = f'/types/{self.types["rbd"]}/extra_specs'
        for key in ('rbd:x', 'RBD:y', 'rbd:stripe_unit'):
            self.ok('DELETE', f'{path}/{key}')

    def test_multiattach_afterwards(self) -> None:
        path = f'/types/{self.types["rbd"]}/extra_specs'
        body = {'extra_specs': {'multiattach': '<is> True'}}
        self.set_specs('rbd', rbd__object_map='true')
        self.refused(400, 'multi-attach', 'POST', path, body)
        path = f'/types/{self.types["fake"]}/extra_specs'
        self.ok('POST', path, body)

    def test_type_that_may_use_any_back_end(self) -> None:
        path = f'/types/{self.types["any"]}/extra_specs'
        body = {'extra_specs': {'rbd:object_map': 'true'}}
        self.refused(400, 'do not support', 'POST', path, body)

    def test_before_the_back_end_is_there(self) -> None:
        path = f'/types/{self.types["nowhere"]}/extra_specs'
        body: Any = {'extra_specs': {'rbd:object_map': 'true'}}
        self.ok('POST', path, body)
        self.get_pools.return_value = []
        body = {'volume_type': {'name': 'early', 'extra_specs': _GOOD}}
        self.ok('POST', '/types', body)

    def test_members_may_not_change_extra_specs(self) -> None:
        path = f'/types/{self.types["rbd"]}/extra_specs'
        for app in (self.member, self.reader, self.stranger):
            body: Any = {'extra_specs': {'rbd:object_map': 'true'}}
            self.refused(403, 'set_extra_specs', 'POST', path, body, app=app)
            one = f'{path}/rbd:object_map'
            self.refused(
                403, 'extra_specs', 'PUT', one, body['extra_specs'], app=app
            )
            self.refused(403, 'set_extra_specs', 'DELETE', one, app=app)
            body = {'volume_type': {'name': 'x', **body}}
            self.refused(
                403, 'set_extra_specs', 'POST', '/types', body, app=app
            )

    def test_specs_of_others(self) -> None:
        path = f'/types/{self.types["rbd"]}/extra_specs'
        body: Any = {'extra_specs': {'vendor:x': 'true'}}
        self.ok('POST', path, body)
        body = {'volume_type': {'name': 'other', **body}}
        self.ok('POST', '/types', body)
        self.get_pools.assert_not_called()
