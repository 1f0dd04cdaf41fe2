# SPDX-License-Identifier: Apache-2.0

"""Operations on keys in extra specs, snapshots and image metadata."""

from __future__ import annotations

import random

from tests.life import kinds
from tests.life import machine
from tests.life import metadata
from tests.life import model

Verdict = metadata.Verdict

_PAIR = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '4'}


class Specs(machine.Machine):
    """Keys in places other than the metadata of a volume."""

    @machine.operation(lambda known: known.of_tenants())
    def set_key_elsewhere(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Set a key of a type, of image metadata or of a snapshot."""
        key = rng.choice((*kinds.ALL, metadata.misspelled(rng)))
        snapshots = self.model.snapshots_of(vol.name)
        where = rng.choice(('type', 'image', 'snapshot'))
        if where == 'type':
            how = rng.choice(('delete one', 'misspell', 'half', 'valid'))
            name, key = self.name('k'), metadata.misspelled(rng)
            yield
            self._change_extra_specs(name, how, key)
        elif where == 'image' or not snapshots:
            key = rng.choice((key, 'os_distro'))
            yield
            answer = self.callers[vol.owner].send(
                'POST',
                f'/volumes/{vol.ident}/action',
                {'os-set_image_metadata': {'metadata': {key: '4'}}},
            )
            ours = key != 'os_distro'
            expected = Verdict.REFUSED if ours else Verdict.EITHER
            what = f'image metadata {key!r} of {vol.name}'
            self.judge(answer, expected, what)
        else:
            snapshot = rng.choice(snapshots)
            how = rng.choice(('POST', 'PUT'))
            yield
            answer = self.callers[snapshot.owner].send(
                how,
                f'/snapshots/{snapshot.ident}/metadata',
                {'metadata': {key: '4'}},
            )
            what = f'{how} {key!r} on {snapshot.name}'
            self.judge(answer, Verdict.REFUSED, what)

    def _change_extra_specs(self, new: str, how: str, key: str) -> None:
        """Change the extra specs of a volume type of its own."""
        name = f'{self.prefix}-{self.callers["a"].project[:8]}-{new}'
        specs = {'volume_backend_name': 'rbd', **_PAIR}
        body = {'name': name, 'extra_specs': specs}
        made = self.admin.send('POST', '/types', {'volume_type': body})
        if not self.judge(made, Verdict.ACCEPTED, f'type {specs}'):
            return
        path = f'/types/{made.body["volume_type"]["id"]}'
        several = f'{path}/extra_specs'
        one = f'{several}/rbd:stripe_count'
        half = {'extra_specs': {'rbd:stripe_unit': '3'}}
        requests: dict[str, tuple[str, str, object]] = {
            'delete one': ('DELETE', one, None),
            'misspell': ('POST', several, {'extra_specs': {key: '4'}}),
            'half': ('POST', several, half),
            'valid': ('PUT', one, {'rbd:stripe_count': '8'}),
        }
        try:
            answer = self.admin.send(*requests[how])
            valid = how == 'valid'
            expected = Verdict.ACCEPTED if valid else Verdict.REFUSED
            self.judge(answer, expected, f'type with {_PAIR}: {how} {key!r}')
        finally:
            self.admin.send('DELETE', path)
