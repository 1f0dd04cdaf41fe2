# SPDX-License-Identifier: Apache-2.0

import datetime

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import api_parts
from tests.unit import base
from tests.unit.rbd_volume_tools.doctor import hosts
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_POOLS = '/scheduler-stats/get_pools?detail=True'
_RETYPING = '/volumes?all_tenants=1&status=retyping'
_MIGRATING = '/volumes/detail?all_tenants=1&migration_status='
_TYPES = '/types?is_public=None'
_S = findings.Severity


def _pool(name: str, **capabilities: object) -> dict[str, object]:
    return {'name': name, 'capabilities': capabilities}


_OF_TENANTS = _pool(
    'h@a#a',
    storage_protocol='ceph',
    **{
        backend_settings.CAPABILITY: True,
        'rbd_tenant_options': [keys.LIMITS[1].limit],
    },
)


class ApiPartsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = fake_cloud.Service()
        self.answer('/extensions', extensions=[{'alias': definitions.ALIAS}])
        self.answer(_RETYPING, volumes=[])
        for status in ('starting', 'migrating', 'completing'):
            self.answer(f'{_MIGRATING}{status}', volumes=[])
        self.answer(_TYPES, volume_types=[])
        self.answer(_POOLS, pools=[])

    def answer(self, path: str, **body: object) -> None:
        self.cinder.answers[path] = body

    def types(self, **specs: dict[str, str]) -> None:
        """Have volume types with these extra specs; the name is the ID."""
        self.answer(
            _TYPES,
            volume_types=[
                {'id': name, 'name': name, 'extra_specs': each}
                for name, each in specs.items()
            ],
        )

        for name in specs:
            self.answer(f'/types/{name}/encryption')

    def specs(self, consumer: str, *types: str, name: str = 'a') -> None:
        """Have QoS specs that are associated with volume types."""
        one = {'id': name, 'name': name, 'consumer': consumer}
        body = self.cinder.answers.setdefault('/qos-specs', {'qos_specs': []})
        others = [x for x in body['qos_specs'] if x['id'] != name]
        body['qos_specs'] = [*others, one]
        self.answer(
            f'/qos-specs/{name}/associations',
            qos_associations=[{'id': each} for each in types],
        )

    def checked(self, *nodes: str) -> list[findings.Finding]:
        return list(
            api_parts.check(
                self.cinder, api_parts.volume_types(self.cinder), nodes
            )
        )

    def problems(self, *nodes: str) -> list[tuple[str, _S]]:
        return hosts.problems(self.checked(*nodes))

    def test_ceph_pool_without_our_driver_is_reported(self) -> None:
        ours = {backend_settings.CAPABILITY: True}
        self.answer(
            _POOLS,
            pools=[
                _pool('h@a#a', storage_protocol='ceph', **ours),
                _pool('h@b#b', storage_protocol='ceph'),
                _pool('h@c#c', storage_protocol='iSCSI'),
            ],
        )
        checked = self.checked()
        self.assertEqual(6, len(checked))
        self.assertEqual(
            [('running back end h@b#b', _S.WARNING)], hosts.problems(checked)
        )

    def test_type_with_keys_and_qos_specs_is_named(self) -> None:
        limited = {keys.LIMITS[0].per_gib: '3'}
        self.types(both=limited, keys=limited, front=limited, specs={})
        self.specs('back-end', 'both', 'specs')
        self.specs('front-end', 'front', name='b')
        self.assertEqual(
            [
                ('limits of volume type both', _S.WARNING),
                ('limits of volume type front', _S.NOTICE),
            ],
            self.problems(),
        )

    def test_permission_to_replace_qos_specs_is_named(self) -> None:
        self.answer(_POOLS, pools=[_OF_TENANTS])
        specs: dict[str, dict[str, str]] = {
            'type': {keys.TENANT_OPTIONS: 'rbd:limits'},
            'back_end': {},
            'none': {keys.TENANT_OPTIONS: 'rbd:cache_mode'},
            'invalid': {keys.TENANT_OPTIONS: 'rbd:turbo'},
            'maximum': {
                keys.TENANT_OPTIONS: 'rbd:iops_*',
                keys.LIMITS[0].maximum: '9',
            },
        }
        self.types(**specs)
        for consumer, permitted in (
            ('back-end', ['type', 'back_end']),
            ('front-end', []),
        ):
            self.specs(consumer, *specs)
            found = dict(self.problems())
            found.pop('limits of volume type maximum')
            self.assertEqual(
                {f'limits of volume type {x}': _S.WARNING for x in permitted},
                found,
            )

    def test_running_retypes_are_named(self) -> None:
        self.answer(_RETYPING, volumes=[{'id': 'a'}, {'id': 'b'}])
        *_, last = self.checked()
        self.assertEqual(_S.NOTICE, last.severity)
        self.assertEqual('2: a, b', last.seen)

    def test_migrations_that_have_stopped_are_named(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        running = {
            'id': 'running',
            'migration_status': 'migrating',
            'created_at': '2020-01-01T00:00:00.000000',
            'updated_at': now.replace(tzinfo=None).isoformat(),
        }
        old = {**running, 'id': 'old', 'updated_at': None}
        self.answer(f'{_MIGRATING}migrating', volumes=[running, old])
        stopped = {**old, 'id': 'b', 'migration_status': 'completing'}
        other = {**old, 'id': 'other', 'migration_status': None}
        self.answer(f'{_MIGRATING}completing', volumes=[stopped, other])
        (finding,) = (
            each for each in self.checked() if 'migration' in each.subject
        )
        self.assertEqual(
            (_S.WARNING, '2: old, b'), (finding.severity, finding.seen)
        )

    def test_each_service_without_the_extension_is_named(self) -> None:
        nodes = ('http://node-1/v3/', 'http://node-2/v3')
        for url in ('http://node-1/v3', 'http://internal/v3'):
            self.answer(f'{url}/extensions', extensions=[])
        self.assertEqual(
            [
                ('running API extension, http://internal/v3', _S.ERROR),
                ('running API extension, http://node-1/v3', _S.ERROR),
            ],
            self.problems(*nodes),
        )

    def test_endpoint_that_does_not_answer_is_a_warning(self) -> None:
        del self.cinder.answers['/extensions']
        self.answer('http://public/v3/extensions', extensions=[])
        checked = self.checked()
        self.assertEqual(
            [
                ('running API extension, http://internal/v3', _S.WARNING),
                ('running API extension, http://public/v3', _S.ERROR),
            ],
            hosts.problems(checked),
        )
        # Cinder answers 404 at an URL without the version.
        self.assertIn('must contain the version', checked[0].remedy)

    def test_compression_hint_of_an_encrypted_type_is_a_warning(self) -> None:
        hint = {'rbd:compression_hint': 'compressible'}
        self.answer(
            _TYPES,
            volume_types=[
                {'id': '1', 'name': 'luks', 'extra_specs': hint},
                {'id': '2', 'name': 'plain', 'extra_specs': hint},
            ],
            volume_type_links=[{'rel': 'next'}],
        )
        self.answer(
            f'{_TYPES}&marker=2',
            volume_types=[{'id': '3', 'name': 'other', 'extra_specs': {}}],
        )
        self.answer('/types/1/encryption', encryption_id='e')
        self.answer('/types/2/encryption')
        self.answer('/types/3/encryption', encryption_id='f')
        self.assertEqual([('volume type luks', _S.WARNING)], self.problems())
        types = api_parts.volume_types(self.cinder)
        self.assertEqual(
            ['luks', 'other'], [x.name for x in types if x.is_encrypted]
        )

    def test_data_pools(self) -> None:
        types = [
            api_parts.VolumeType('1', 'name', specs)
            for specs in (
                {'rbd:data_pool': 'x', 'volume_backend_name': 'a'},
                {'rbd:data_pool': 'y', 'volume_backend_name': 'a'},
                {'rbd:data_pool': 'z'},
                {},
            )
        ]
        self.assertEqual({'a': {'x', 'y'}}, api_parts.data_pools(types))
