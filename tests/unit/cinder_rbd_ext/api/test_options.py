# SPDX-License-Identifier: Apache-2.0

import copy
from typing import Any
from unittest import mock
from urllib import parse

from cinder.volume import qos_specs
import ddt
import jsonschema
import oslo_messaging

from cinder_rbd_ext import policies
from rbd_volume_options import published
from tests.unit.cinder_rbd_ext.api import base

_PATH = '/os-rbd-volume-options'
_SCHEMA = published.response_schema()
_VALIDATOR = jsonschema.Draft202012Validator(
    _SCHEMA, format_checker=jsonschema.FormatChecker()
)


@ddt.ddt
class OptionsTest(base.ApiTestCase):
    """Tests for GET os-rbd-volume-options, for all types and for one."""

    def get(self, name: str, **how: Any) -> base.Answer:
        """Return the response for a type."""
        answer: base.Answer = self.ok('GET', f'{_PATH}/{name}', **how)
        _VALIDATOR.validate(answer)
        told: base.Answer = answer['volume_type']
        return told

    def test_schema_is_one(self) -> None:
        jsonschema.Draft202012Validator.check_schema(_SCHEMA)
        # The schema refuses an incomplete response.
        self.assertFalse(_VALIDATOR.is_valid({'volume_type': {}}))

    def test_all_types(self) -> None:
        answer = self.ok('GET', _PATH)
        _VALIDATOR.validate(answer)
        supported = {
            each['name']: each['supported'] for each in answer['volume_types']
        }
        wanted = {
            name: name not in ('fake', 'any', 'nowhere') for name in base.TYPES
        }
        wanted['__DEFAULT__'] = False
        self.assertEqual(wanted, {name: supported[name] for name in wanted})
        self.assertEqual(sorted(supported), list(supported))

    def test_by_name_and_by_id(self) -> None:
        self.assertEqual(self.get('rbd'), self.get(self.types['rbd']))

    def test_back_ends_are_told_apart(self) -> None:
        one, two = self.get('rbd')['options'], self.get('rbd2')['options']
        self.assertEqual(64, one['rbd:stripe_count']['maximum'])
        self.assertEqual(4, two['rbd:stripe_count']['maximum'])
        self.assertEqual(4 * base.MIB, one['rbd:object_size']['default'])
        self.assertEqual(8 * base.MIB, two['rbd:object_size']['default'])
        self.assertEqual('writeback', two['rbd:cache_mode']['default'])
        self.assertEqual(
            'backend configuration', two['rbd:cache_mode']['default_from']
        )
        pools = self.get('rbd2', app=self.admin)['options']['rbd:data_pool']
        self.assertEqual('ec', pools['default'])
        self.assertEqual('backend configuration', pools['default_from'])
        self.assertIsNone(two['rbd:data_pool']['default'])
        self.assertIsNone(two['rbd:data_pool']['default_from'])
        self.assertTrue(one['rbd:object_size']['settable'])
        self.assertFalse(two['rbd:object_size']['settable'])
        fake = self.get('fake')
        self.assertFalse(fake['supported'])
        self.assertIn('no back end of the volume type', fake['reason'])

    def test_type_on_two_backends_offers_what_both_allow(self) -> None:
        both = self.get('both')['options']
        self.assertEqual(4, both['rbd:stripe_count']['maximum'])
        self.assertEqual(
            ['none', 'writeback'], both['rbd:cache_mode']['allowed']
        )
        self.assertFalse(both['rbd:object_size']['settable'])
        self.assertTrue(both['rbd:cache_mode']['settable'])
        # None, because the back ends differ.
        self.assertIsNone(both['rbd:object_size']['default'])

    def _pools_of(self, name: str, *reported: Any, **how: Any) -> Any:
        """Return the data pools in a response, or 'absent'.

        :param reported: what the first back ends have reported
        """
        pools = copy.deepcopy(base.POOLS)
        for pool, names in zip(pools, reported, strict=False):
            pool['capabilities']['rbd_data_pools'] = names
        self.get_pools.return_value = pools
        option = self.get(name, **how)['options']['rbd:data_pool']
        return option.get('candidates', 'absent')

    @ddt.data(
        (None, ('rbd',)),
        (['a', 'b'], ('rbd', ['a', 'b'])),
        # Each back end of the type must have reported a pool.
        (None, ('both', ['a', 'b'])),
        (['b'], ('both', ['a', 'b'], ['b', 'c'])),
        ([], ('both', ['a'], ['c'])),
    )
    @ddt.unpack
    def test_data_pools(self, expected: Any, reported: Any) -> None:
        self.assertEqual(expected, self._pools_of(*reported, app=self.admin))

    def test_data_pools_are_for_administrators(self) -> None:
        self.assertEqual('absent', self._pools_of('rbd', ['a']))
        response = self.call('GET', f'{_PATH}/rbd', app=self.reader)
        self.assertNotIn('candidates', response.text)

    def test_multiattach_type_offers_no_cache_and_no_map(self) -> None:
        shared = self.get('shared')['options']
        self.assertEqual(['none'], shared['rbd:cache_mode']['allowed'])
        self.assertEqual('none', shared['rbd:cache_mode']['default'])
        self.assertEqual([False], shared['rbd:object_map']['allowed'])
        self.assertNotIn('exclusive-lock', shared['rbd:features']['allowed'])

    def test_what_a_type_says(self) -> None:
        striped = self.get('striped')['options']
        self.assertEqual(65536, striped['rbd:stripe_unit']['default'])
        self.assertEqual(8, striped['rbd:stripe_count']['default'])
        self.assertEqual(
            'volume type', striped['rbd:stripe_count']['default_from']
        )
        settable = [k for k, v in striped.items() if v['settable']]
        self.assertEqual(['rbd:object_map'], settable)

    def test_type_with_specs_that_are_wrong(self) -> None:
        self.set_specs('rbd', rbd__stripes='8')
        told = self.get('rbd')
        self.assertFalse(told['supported'])
        self.assertIn('rbd:stripes', told['reason'])

    def test_what_a_reader_may_set(self) -> None:
        told = self.get('rbd', app=self.reader)['options']
        self.assertFalse(any(each['settable'] for each in told.values()))

    def test_private_types(self) -> None:
        self.add_type('private', base.TYPES['rbd'], is_public=False)
        self.refused(404, 'private', 'GET', f'{_PATH}/private')
        names = [e['name'] for e in self.ok('GET', _PATH)['volume_types']]
        self.assertNotIn('private', names)
        self.assertTrue(self.get('private', app=self.admin)['supported'])

    @ddt.data(
        'a/b', 'ssd.fast', 'Ümlaut', '磁盘', 'new', 'a/edit', '50 %', 'a?b#c'
    )
    def test_type_is_found_by_any_name(self, name: str) -> None:
        self.add_type(name, base.TYPES['rbd'])
        path = f'{_PATH}/{parse.quote(name, safe="")}'
        self.assertEqual(name, self.ok('GET', path)['volume_type']['name'])
        self.assertIn(
            name, self.call('GET', f'{path}x').json['itemNotFound']['message']
        )

    def test_no_such_type(self) -> None:
        self.refused(404, 'none', 'GET', f'{_PATH}/none')

    def test_nobody_has_reported(self) -> None:
        self.get_pools.return_value = []
        for path in (_PATH, f'{_PATH}/rbd'):
            self.refused(503, 'has reported', 'GET', path)

    def test_scheduler_is_silent(self) -> None:
        self.get_pools.side_effect = oslo_messaging.MessagingTimeout()
        self.refused(503, 'from the scheduler', 'GET', _PATH)

    def test_other_methods(self) -> None:
        for method in ('POST', 'PUT', 'DELETE'):
            response = self.call(method, f'{_PATH}/rbd', {})
            self.assertIn(response.status_int, (404, 405), response.text)


class QosLimitsTest(base.ApiTestCase):
    """The limits of volume types in responses of the extension."""

    def limit(self, *types: str, **specs: str) -> None:
        """Associate QoS specs with volume types."""
        specs.setdefault('consumer', 'back-end')
        made = qos_specs.create(self.admin_context, types[0], specs)
        for name in types:
            qos_specs.associate_qos_with_type(
                self.admin_context, made.id, self.types[name]
            )

    def limits(self, **how: Any) -> dict[str, Any]:
        """Return the limits in the response, by type name."""
        types = self.ok('GET', _PATH, **how)['volume_types']
        return {
            each['name']: each.get('qos_limits', 'absent') for each in types
        }

    def test_limits_of_a_type(self) -> None:
        self.limit(
            *('rbd', 'striped'),
            total_iops_sec='500',
            read_bytes_sec_max='1048576',
            write_iops_sec_per_gb_min='10',
            internal_tier='secret',
        )
        expected = {
            'consumer': 'back-end',
            'limits': {
                'read_bytes_sec_max': '1048576',
                'total_iops_sec': '500',
                'write_iops_sec_per_gb_min': '10',
            },
        }
        with mock.patch.object(
            qos_specs,
            'get_qos_specs',
            autospec=True,
            side_effect=qos_specs.get_qos_specs,
        ) as get:
            limits = self.limits()
        # Both types have the same QoS specs.
        self.assertEqual(1, get.call_count)
        self.assertEqual(expected, limits['rbd'])
        self.assertEqual(expected, limits['striped'])
        self.assertIsNone(limits['rbd2'])
        # Without RBD volume options, nothing is added to a type.
        self.assertEqual('absent', limits['fake'])
        one = self.ok('GET', f'{_PATH}/rbd')['volume_type']
        self.assertEqual(expected, one['qos_limits'])

    def test_limit_is_the_maximum_of_the_key_of_tenants(self) -> None:
        self.limit('rbd', total_iops_sec='70')
        path = f'{_PATH}/rbd'
        for app in (self.app, self.admin):
            answer = self.ok('GET', path, app=app)['volume_type']['options']
            self.assertEqual(70, answer['rbd:iops_limit']['maximum'])
            self.assertLess(70, answer['rbd:read_iops_limit']['maximum'])
        volume = self.volume()
        for method, path, body in (
            ('POST', '/volumes', self.create({'rbd:iops_limit': '100000000'})),
            (
                'POST',
                f'/volumes/{volume.id}/metadata',
                {'metadata': {'rbd:iops_limit': '71'}},
            ),
        ):
            words = 'more than the volume type allows'
            self.refused(400, words, method, path, body)

    def test_limit_that_only_qemu_applies_is_no_maximum(self) -> None:
        self.limit('rbd', total_iops_sec='70', consumer='front-end')
        answer = self.ok('GET', f'{_PATH}/rbd')['volume_type']['options']
        self.assertLess(70, answer['rbd:iops_limit']['maximum'])

    def test_specs_without_limits(self) -> None:
        self.limit('rbd', internal_tier='secret')
        self.assertIsNone(self.limits()['rbd'])

    def test_policy_hides_limits(self) -> None:
        self.limit('rbd', total_iops_sec='500')
        self.assertNotEqual('absent', self.limits(app=self.reader)['rbd'])
        allows = policies.allows

        def refuse(context: Any, action: str, target: Any = None) -> bool:
            return action != policies.GET_QOS_LIMITS and allows(
                context, action, target
            )

        self.mock_object(policies, 'allows', refuse)
        self.assertEqual('absent', self.limits()['rbd'])
