# SPDX-License-Identifier: Apache-2.0

"""Invalid requests of each kind, sent to a real Cinder.

Each is refused immediately with a helpful message and leaves Cinder and the
pools unchanged.
"""

from typing import Any

from tests.cloud import base

_UNITS = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
_MAP = {'rbd:object_map': 'true'}

# Metadata of a new volume of type rbd; part of the message. One of each check:
# unit tests have all values.
_VALUES: tuple[tuple[dict[str, str], str], ...] = (
    ({'rbd:stripes': '8'}, 'unknown key'),
    ({'rbd:data_pool': 'volumes-data'}, 'not a key of volume metadata'),
    ({'rbd:object_size': '\u0664M'}, 'not a size'),
    ({'rbd:stripe_unit': '64K'}, 'set without rbd:stripe_count'),
    ({**_UNITS, 'rbd:stripe_unit': '8M'}, 'not a factor of the object size'),
    ({**_UNITS, 'rbd:stripe_count': '65'}, '1 to 64'),
    ({**_UNITS, 'rbd:stripe_count': '3'}, '1 GiB is not a multiple of'),
    ({'rbd:features': 'layering', **_MAP}, 'contradicts rbd:features'),
    ({'rbd:cache_mode': 'unsafe'}, 'not allowed by this back end'),
)

# Requests that differ in more than metadata from type rbd and 1 GiB.
_REQUESTS: tuple[tuple[dict[str, Any], dict[str, str], int, str], ...] = (
    ({'volume_type': 'rbd-multiattach'}, _MAP, 400, 'multi-attach'),
    (
        {'volume_type': 'rbd-multiattach'},
        {'rbd:cache_mode': 'writeback'},
        400,
        'multi-attach',
    ),
    ({'volume_type': 'rbd2'}, _UNITS, 400, 'tenants may not set this key'),
    ({'volume_type': 'rbd2'}, _MAP, 400, 'rbd:cache_mode'),
    ({'volume_type': 'fake'}, _MAP, 400, 'no back end of the volume type'),
    ({'volume_type': 'no such type'}, _MAP, 404, 'no such type'),
    ({'volume_type': None}, {'rbd:object_size': '3M'}, 400, 'power of two'),
    (
        {'snapshot_id': '{snapshot}'},
        {'rbd:stripe_unit': '2M', 'rbd:stripe_count': '2'},
        400,
        'the source has 1 MiB objects, 64 KiB x 8',
    ),
    (
        {'source_volid': '{volume}', 'volume_type': None},
        {'rbd:stripe_unit': '2M', 'rbd:stripe_count': '2'},
        400,
        'the source has 1 MiB objects, 64 KiB x 8',
    ),
    (
        {'source_volid': '{volume}', 'volume_type': 'fake'},
        _MAP,
        400,
        'no back end of the volume type',
    ),
    ({'backup_id': '{nothing}'}, _MAP, 404, 'Backup'),
    ({'source_volid': '{nothing}'}, _MAP, 404, 'Volume'),
    ({'imageRef': '{nothing}'}, _MAP, 400, 'Invalid image'),
)

_NEW = {'rbd:object_map': 'false'}

# Changes to a volume that has ASKED in its metadata.
_CHANGES: tuple[tuple[str, str, Any, str], ...] = (
    (
        'POST',
        'metadata',
        {'metadata': {'rbd:object_size': '2M'}},
        'fixed at creation',
    ),
    (
        'POST',
        'metadata',
        {'metadata': {'rbd:features': 'layering'}},
        'fixed at creation',
    ),
    ('POST', 'metadata', {'metadata': {'rbd:stripes': '8'}}, 'unknown key'),
    ('POST', 'metadata', {'metadata': {'rbd:cache_mode': 'x'}}, 'cache mode'),
    (
        'POST',
        'metadata',
        {'metadata': {'rbd:cache_mode': 'unsafe'}},
        'not allowed',
    ),
    ('PUT', 'metadata', {'metadata': {}}, 'cannot be removed'),
    ('PUT', 'metadata', {'metadata': {'a': 'b'}}, 'cannot be removed'),
    ('PUT', 'metadata/rbd:object_map', {'meta': _NEW}, 'fixed at creation'),
    ('DELETE', 'metadata/rbd:object_size', None, 'cannot be removed'),
    ('PUT', '', {'volume': {'metadata': {}}}, 'cannot be removed'),
)

# Extra specs that an administrator sets, without the back-end name.
_SPECS: tuple[tuple[dict[str, str], str], ...] = (
    ({'rbd:stripe_unit': '64K'}, 'set without'),
    ({'rbd:data_pool': 'a b'}, 'not a valid pool name'),
    ({**_MAP, 'multiattach': '<is> True'}, 'multi-attach'),
    ({**_MAP, 'volume_backend_name': 'fake'}, 'no back end of the volume'),
    ({'rbd:cache_mode': 'unsafe'}, 'not allowed by this back end'),
)

_NOTHING = '00000000-0000-4000-8000-000000000000'


class BadRequestTest(base.CloudTestCase):
    """Respond with 400, 403 or 404 and a message; change nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.volume = self.created(metadata=base.ASKED)
        self.names = {
            '{volume}': self.volume,
            '{snapshot}': self.snapshot(self.volume),
            '{nothing}': _NOTHING,
        }
        before = self._everything()
        # Runs before volumes and snapshots are removed.
        self.addCleanup(lambda: self.assertEqual(before, self._everything()))

    def _everything(self) -> Any:
        """Return the contents of Cinder and of the pools."""
        volumes = self.request(
            'GET', '/volumes/detail?all_tenants=1', cloud=self.operator
        )['volumes']
        types = self.request('GET', '/types', cloud=self.operator)
        return (
            {each['id']: each['metadata'] for each in volumes},
            {e['id']: e['extra_specs'] for e in types['volume_types']},
            [base.images(pool) for pool in ('volumes', 'volumes2')],
        )

    def _body(self, metadata: dict[str, str], **values: Any) -> Any:
        fields = {'size': 1, 'volume_type': 'rbd', **values}
        named = {
            key: self.names.get(value, value)
            for key, value in fields.items()
            if value is not None
        }
        return {'volume': {**named, 'metadata': metadata}}

    def test_invalid_values_are_refused_with_reasons(self) -> None:
        for metadata, words in _VALUES:
            body = self._body(metadata)
            self.check_refused(400, words, 'POST', '/volumes', body)

    def test_sizes_types_and_sources(self) -> None:
        for values, metadata, status, words in _REQUESTS:
            body = self._body(metadata, **values)
            self.check_refused(status, words, 'POST', '/volumes', body)

    def test_changes_of_a_volume(self) -> None:
        for method, path, body, words in _CHANGES:
            whole = f'/volumes/{self.volume}/{path}'.rstrip('/')
            self.check_refused(400, words, method, whole, body)

    def test_extra_specs(self) -> None:
        type_name = self.make_type()
        answer = self.request('GET', '/types', cloud=self.operator)
        (ident,) = (
            each['id']
            for each in answer['volume_types']
            if each['name'] == type_name
        )
        for bad, words in _SPECS:
            specs = {'volume_backend_name': 'rbd', **bad}
            path = f'/types/{ident}/extra_specs'
            for method, where, body in (
                ('POST', path, {'extra_specs': specs}),
                (
                    'POST',
                    '/types',
                    {'volume_type': {'name': 'bad', 'extra_specs': specs}},
                ),
            ):
                self.check_refused(
                    400, words, method, where, body, self.operator
                )
            if len(bad) == 1:
                ((key, _),) = bad.items()
                self.check_refused(
                    400, words, 'PUT', f'{path}/{key}', bad, self.operator
                )

    def test_all_microversions(self) -> None:
        body = self._body({'rbd:object_size': '3M'})
        for version in ('3.0', '3.13', '3.27', '3.47', '3.53', '3.70'):
            response = self.tenant.block_storage.post(
                '/volumes', json=body, microversion=version
            )
            self.assertEqual(400, response.status_code, version)
            self.assertIn('a power of two', response.text)
