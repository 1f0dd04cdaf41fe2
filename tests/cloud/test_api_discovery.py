# SPDX-License-Identifier: Apache-2.0

"""Test the API extension of a running Cinder."""

import jsonschema

from rbd_volume_options import published
from tests import runs
from tests.cloud import base

_PATH = '/os-rbd-volume-options'
_SCHEMA = published.response_schema()


@runs.tags(runs.RELEASES)
class DiscoveryTest(base.CloudTestCase):
    """Discovery with two RBD back ends and another back end."""

    def _told(self, name: str) -> base.Record:
        answer = self.request('GET', f'{_PATH}/{name}')
        jsonschema.validate(answer, _SCHEMA)
        told: base.Record = answer['volume_type']
        return told

    def test_back_ends_are_told_apart(self) -> None:
        one = self._told('rbd')['options']
        two = self._told('rbd2')['options']
        self.assertEqual(64, one['rbd:stripe_count']['maximum'])
        self.assertEqual(4, two['rbd:stripe_count']['maximum'])
        self.assertTrue(one['rbd:stripe_count']['settable'])
        self.assertFalse(two['rbd:stripe_count']['settable'])
        self.assertTrue(two['rbd:cache_mode']['settable'])
        self.assertIsNone(two['rbd:data_pool']['default'])
        self.assertIn('object-map', two['rbd:features']['default'])
        self.assertEqual(
            'Ceph configuration', two['rbd:features']['default_from']
        )
        fake = self._told('fake')
        self.assertFalse(fake['supported'])
        self.assertIn('no back end of the volume type', fake['reason'])

    def test_list_is_the_sum_of_its_parts(self) -> None:
        answer = self.request('GET', _PATH)
        jsonschema.validate(answer, _SCHEMA)
        names = {each['name'] for each in answer['volume_types']}
        self.assertLessEqual({'rbd', 'rbd2', 'fake'}, names)
        for each in answer['volume_types']:
            if each['name'] in ('rbd', 'rbd2', 'fake'):
                self.assertEqual(self._told(each['id']), each)

    def test_what_is_told_can_be_had(self) -> None:
        told = self._told('rbd')['options']
        unit = told['rbd:stripe_unit']['minimum']
        metadata = {
            'rbd:object_size': str(told['rbd:object_size']['maximum']),
            'rbd:stripe_unit': str(max(unit, 4096)),
            'rbd:stripe_count': str(told['rbd:stripe_count']['maximum']),
            'rbd:features': ','.join(
                name
                for name in told['rbd:features']['allowed']
                if name != 'journaling'
            ),
            'rbd:cache_mode': told['rbd:cache_mode']['allowed'][-1],
        }
        self.created(metadata=metadata)

    def test_both_back_ends(self) -> None:
        body = {
            'volume_type': {
                'name': 'test-both',
                'extra_specs': {
                    'capabilities:rbd_volume_options': '<is> True'
                },
            }
        }
        made = self.request('POST', '/types', body, self.operator)
        ident = made['volume_type']['id']
        self.addCleanup(self.operator.block_storage.delete, f'/types/{ident}')
        told = self._told('test-both')['options']
        self.assertEqual(4, told['rbd:stripe_count']['maximum'])
        settable = [key for key, each in told.items() if each['settable']]
        self.assertEqual(['rbd:cache_mode'], settable)


@runs.tags(runs.RELEASES)
class AttributesTest(base.CloudTestCase):
    """Attributes of created volumes."""

    def test_attributes_show_what_was_made(self) -> None:
        volume = self.created(metadata=base.ASKED)
        info = self.check_made(volume)
        listed = self.request('GET', '/volumes/detail')['volumes']
        (entry,) = (each for each in listed if each['id'] == volume)
        shown = self.request('GET', f'/volumes/{volume}')['volume']
        for each in (entry, shown):
            made = {
                key.partition(':')[2]: value
                for key, value in each.items()
                if key.startswith('os-rbd-volume-options:')
            }
            self.assertEqual({}, made.pop('cache_modes'))
            self.assertEqual({}, made.pop('cache_modes_in_force'))
            self.assertIsNone(made.pop('data_pool'))
            self.assertIsNone(made.pop('compression_hint'))
            self.assertEqual({}, made.pop('discard'))
            self.assertEqual({}, made.pop('discard_granularity'))
            self.assertEqual({}, made.pop('detect_zeroes'))
            self.assertEqual({}, made.pop('limits'))
            self.assertIsNone(made.pop('sector_size'))
            self.assertIsNone(made.pop('refused'))
            self.assertIsNone(made.pop('conversion'))
            self.assertIsNone(made.pop('attach_refused'))
            self.assertEqual(
                sorted(info['features']), sorted(made.pop('features'))
            )
            self.assertEqual(
                {'volume metadata'}, set(made.pop('origins').values())
            )
            self.assertEqual(base.MADE, made)
            self.assertEqual(base.ASKED, each['metadata'])

    def test_cache_mode_of_an_attachment(self) -> None:
        volume = self.created(metadata={'rbd:cache_mode': 'writeback'})
        # Without a server: to delete an attachment of a server, Cinder would
        # call Nova.
        body = {
            'attachment': {
                'volume_uuid': volume,
                'connector': {
                    'host': 'h',
                    'ip': '::1',
                    'rbd_host': {'modes': ['writeback']},
                },
            }
        }
        made = self.request('POST', '/attachments', body, self.operator)
        ident = made['attachment']['id']
        path = f'/attachments/{ident}'
        self.addCleanup(self.request, 'DELETE', path, None, self.operator)
        self.request(
            'POST', f'{path}/action', {'os-complete': {}}, self.operator
        )
        key = 'os-rbd-volume-options:cache_modes'
        self.assertEqual({ident: 'writeback'}, self.show(volume)[key])
        # The new mode applies to the next attachment; this one keeps its mode.
        meta = {'metadata': {'rbd:cache_mode': 'none'}}
        response = self.respond('POST', f'/volumes/{volume}/metadata', meta)
        self.assertEqual(200, response.status_code, response.text)
        self.assertIn('at the next attachment', response.headers['Warning'])
        self.assertEqual({ident: 'writeback'}, self.show(volume)[key])
