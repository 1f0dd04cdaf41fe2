# SPDX-License-Identifier: Apache-2.0

"""Operations that transfer, manage and unmanage volumes."""

from __future__ import annotations

import random
from typing import Any

from tests.life import cloud
from tests.life import kinds
from tests.life import machine
from tests.life import metadata
from tests.life import model
from tests.life import purge

Verdict = metadata.Verdict

#: Manually created images, one with an unusual striping.
_BY_HAND: tuple[dict[str, int], ...] = (
    {},
    {'order': 21, 'stripe_unit': 2**16, 'stripe_count': 4},
    {'order': 20, 'stripe_unit': 2**20, 'stripe_count': 3},
)


def _unmanageable(known: model.Model) -> list[model.Volume]:
    return [
        v
        for v in known.on_ceph()
        if not known.offered(v.name)
        and not v.kind.multiattach
        # Cinder does not know when an unmanaged clone is removed, and
        # keeps its source as `*.deleted`.
        and not v.bases
    ]


class Owning(machine.Machine):
    """Transfers, manage and unmanage."""

    @machine.operation(
        lambda known: [v for v in known.idle() if v.owner in 'ab']
    )
    def offer(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Offer a volume to the other tenant."""
        new = self.name('o')
        yield
        answer = self.callers[vol.owner].send(
            'POST',
            '/volume-transfers',
            {'transfer': {'volume_id': vol.ident, 'name': new}},
        )
        if not self.judge(answer, Verdict.EITHER, f'offer {vol.name}'):
            return
        transfer = answer.body['transfer']
        self.model.transfers[new] = model.Transfer(
            new, transfer['id'], vol.name, transfer['auth_key']
        )
        self.settle(vol)

    @machine.operation(lambda known: known.transfers.values())
    def accept(
        self, rng: random.Random, offer: model.Transfer
    ) -> machine.Operation:
        """Accept a transfer as the other tenant, or cancel it."""
        is_right = rng.random() < 0.8
        how = rng.choice(('accept', 'accept', 'cancel'))
        yield
        if how == 'cancel':
            self.cancel(offer)
            return
        vol = self.model.volumes[offer.volume]
        other = 'b' if vol.owner == 'a' else 'a'
        answer = self.callers[other].send(
            'POST',
            f'/volume-transfers/{offer.ident}/accept',
            {'accept': {'auth_key': offer.key if is_right else 'wrong'}},
        )
        expected = Verdict.ACCEPTED if is_right else Verdict.REFUSED
        if self.judge(answer, expected, f'accept {offer.name}'):
            vol.owner = other
            for snapshot in self.model.snapshots_of(vol.name):
                snapshot.owner = other
            del self.model.transfers[offer.name]
            self.settle(vol)

    def cancel(self, offer: model.Transfer) -> None:
        """Cancel a transfer as the owner of its volume."""
        vol = self.model.volumes[offer.volume]
        path = f'/volume-transfers/{offer.ident}'
        answer = self.callers[vol.owner].send('DELETE', path)
        self.judge(answer, Verdict.ACCEPTED, f'cancel {offer.name}')
        del self.model.transfers[offer.name]
        self.settle(vol)

    @machine.operation(_unmanageable)
    def unmanage(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Unmanage a volume as the administrator."""
        new = self.name('m')
        yield
        answer = self.admin.send(
            'POST', f'/volumes/{vol.ident}/action', {'os-unmanage': None}
        )
        expected = Verdict.ACCEPTED
        if self.model.snapshots_of(vol.name):
            expected = Verdict.REFUSED
        accepted = self.judge(answer, expected, f'unmanage {vol.name}')
        if accepted and vol.backend:
            self.await_gone(f'/volumes/{vol.ident}')
            del self.model.volumes[vol.name]
            self.model.strays[new] = model.Stray(
                new, vol.backend, vol.image, vol.size, vol.filled
            )

    @machine.operation(lambda known: known.volumes.values(), reads=True)
    def make_by_hand(
        self, rng: random.Random, _: model.Volume
    ) -> machine.Operation:
        """Create an RBD image outside Cinder."""
        new = self.name('m')
        layout, size = rng.choice(_BY_HAND), rng.choice((1, 3))
        yield
        backend = kinds.BACKENDS['rbd']
        image = f'{purge.PREFIX}{self.callers["a"].project}-{new}'
        self.cluster.make(backend.pool, image, size, **layout)
        self.tell(f'operator: image {new}: {layout}')
        self.model.strays[new] = model.Stray(new, backend, image, size, {})

    @machine.operation(lambda known: known.strays.values())
    def manage(
        self, rng: random.Random, image: model.Stray
    ) -> machine.Operation:
        """Manage an RBD image as the administrator."""
        kind = rng.choice(
            [
                k
                for k in kinds.public()
                if image.backend.name in k.backends and not k.multiattach
            ]
        )
        keys = metadata.drawn(rng) if rng.random() < 0.5 else {}
        new = self.name('v')
        yield
        state = self.cluster.state(image.backend.pool, image.image)
        body: dict[str, Any] = {
            'host': image.backend.host,
            'ref': {'source-name': image.image},
            'name': new,
            'volume_type': self.type_name(kind),
            'metadata': keys,
        }
        answer = self.admin.send(
            'POST', '/manageable_volumes', {'volume': body}
        )
        expected = Verdict.ACCEPTED
        if any(metadata.is_misspelled(key) for key in keys):
            expected = Verdict.REFUSED
        elif {**kind.own, **metadata.ours(keys)} or (
            kind.data_pool(image.backend) != image.backend.data_pool
        ):
            # Accepted only if the image matches; later checks verify this.
            expected = Verdict.EITHER
        what = f'manage {image.name} as {kind.name}, {keys}'
        if not self.judge(answer, expected, what):
            return
        ident = answer.body['volume']['id']
        if expected is Verdict.EITHER and self._is_left(ident, image):
            return
        del self.model.strays[image.name]
        vol = model.Volume(
            new,
            ident,
            'admin',
            kind,
            image.size,
            metadata.ours(keys),
            image.filled,
            bases=[state] if state else [],
            managed=True,
            foreign=True,
        )
        self.model.volumes[new] = vol
        self.settle(vol)

    def _is_left(self, ident: str, image: model.Stray) -> bool:
        """Return whether an image that contradicts its type is unchanged.

        Cinder's API cannot inspect the image, so the driver refuses it, as
        the stock driver does: the new volume is in ``error`` with a reason,
        and the image is unchanged. The administrator deletes the volume.
        """
        record = self.until(lambda: self.outcome(ident), f'{ident} to settle')
        status = record['status']
        if not status.startswith('error'):
            return False
        reason = record['os-rbd-volume-options:refused']
        cloud.require(reason, f'{ident} is {status} without a reason')
        left = self.cluster.state(image.backend.pool, image.image)
        cloud.require(left, f'{image.image} is lost by a refused manage')
        self.admin.send('DELETE', f'/volumes/{ident}')
        self.await_gone(f'/volumes/{ident}')
        return True
