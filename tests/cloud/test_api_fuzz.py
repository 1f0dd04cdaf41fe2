# SPDX-License-Identifier: Apache-2.0

"""Random requests to a real Cinder: none may cause a server error.

A failure reports the seed, with which it can be repeated.
"""

import random
from typing import Any
from urllib import parse

from rbd_volume_options import registry
from tests.cloud import base

_SEEDS = range(240)
_NOTHING = '00000000-0000-4000-8000-000000000000'
_TEXTS = (
    *('', ' ', '0', '-1', '1e3', '4M', '64K', 'true', '<is> True', '<or>'),
    *('\u0664', '\x00', 'a' * 255, 'a' * 300, '%', '../..', "';--", '{}'),
    *('layering', 'layering,object-map', 'none', 'unsafe', ',', 'null'),
)
_NAMES = (
    *registry.OPTIONS,
    *('rbd:', 'rbd:\n', 'rbd:x', 'RBD:object_size', 'volume_backend_name'),
    *('multiattach', 'capabilities:rbd_volume_options', 'a', ''),
)


class FuzzTest(base.CloudTestCase):
    """Requests to the suite's routes and requests that it checks."""

    def _value(self, rng: random.Random, depth: int = 0) -> Any:
        scalars: tuple[Any, ...] = (
            *(None, True, 0, -1, 2**70, 1.5, [], {}),
            *(rng.choice(_TEXTS) for _ in range(8)),
        )
        if depth < 2 and rng.random() < 0.2:
            return [self._value(rng, depth + 1)]
        return rng.choice(scalars)

    def _items(self, rng: random.Random) -> Any:
        if rng.random() < 0.1:
            return self._value(rng)
        return {
            rng.choice(_NAMES): (
                self._value(rng) if rng.random() < 0.2 else rng.choice(_TEXTS)
            )
            for _ in range(rng.randint(0, 4))
        }

    def _volume(self, rng: random.Random) -> Any:
        # The volume is never created: its type does not exist.
        volume = {'metadata': self._items(rng), 'volume_type': 'no such type'}
        for name in ('size', 'snapshot_id', 'source_volid', 'imageRef'):
            if rng.random() < 0.4:
                volume[name] = rng.choice(
                    (_NOTHING, self._value(rng), self._value(rng))
                )
        return volume

    def _request(self, rng: random.Random, volume: str, ident: str) -> Any:
        key = parse.quote(rng.choice((*_NAMES, *_TEXTS)), safe='')
        items = self._items(rng)
        return rng.choice(
            (
                ('GET', '/os-rbd-volume-options', None),
                ('GET', f'/os-rbd-volume-options/{key}', None),
                (
                    rng.choice(('POST', 'PUT', 'DELETE', 'PATCH')),
                    f'/os-rbd-volume-options/{key}',
                    self._value(rng),
                ),
                ('POST', '/volumes', {'volume': self._volume(rng)}),
                # Stock Cinder responds with 500 to a request without a
                # body, before any extension runs.
                ('POST', '/volumes', self._value(rng) or {}),
                ('POST', f'/volumes/{volume}/metadata', {'metadata': items}),
                ('PUT', f'/volumes/{volume}/metadata', {'metadata': items}),
                ('PUT', f'/volumes/{volume}/metadata/{key}', {'meta': items}),
                ('DELETE', f'/volumes/{volume}/metadata/{key}', None),
                ('PUT', f'/volumes/{volume}', {'volume': {'metadata': items}}),
                (
                    'POST',
                    f'/volumes/{volume}/action',
                    {'os-retype': rng.choice((items, {'new_type': key}))},
                ),
                (
                    'POST',
                    f'/types/{ident}/extra_specs',
                    {'extra_specs': items},
                ),
                ('PUT', f'/types/{ident}/extra_specs/{key}', items),
                (
                    'POST',
                    '/types',
                    {'volume_type': {'extra_specs': items}},
                ),
            )
        )

    def test_no_server_error(self) -> None:
        volume = self.created(metadata=base.ASKED)
        name = self.make_type()
        answer = self.request('GET', '/types', cloud=self.operator)
        (ident,) = (
            e['id'] for e in answer['volume_types'] if e['name'] == name
        )
        for seed in _SEEDS:
            rng = random.Random(seed)
            method, path, body = self._request(rng, volume, ident)
            response = self.respond(method, path, body, self.operator)
            self.assertLess(
                response.status_code,
                500,
                f'seed {seed}: {method} {path} {body}: {response.text}',
            )
        # The volume has not changed.
        self.check_made(volume)
