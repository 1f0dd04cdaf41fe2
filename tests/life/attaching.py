# SPDX-License-Identifier: Apache-2.0

"""Operations that attach and detach as Nova does, without a server."""

from __future__ import annotations

import random
from typing import Any
import uuid

from tests.life import cloud
from tests.life import machine
from tests.life import metadata
from tests.life import model

Verdict = metadata.Verdict

_MODE = 'rbd:cache_mode'
_OFFERS = (
    None,
    ['none', 'writethrough', 'writeback', 'directsync'],
    ['none', 'writethrough', 'writeback', 'directsync', 'unsafe'],
    ['unsafe'],
)


def _attachable(known: model.Model) -> list[model.Volume]:
    return [
        v
        for v in known.of_tenants()
        if (v.idle or (v.kind.multiattach and v.status == 'in-use'))
        and v.backend
    ]


class Attaching(machine.Machine):
    """Attachments."""

    @machine.operation(_attachable)
    def attach(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Attach a volume, with what a host offers or with forged data."""
        new = self.name('t')
        # Nova uses a service token; these tests use an administrator.
        by = rng.choice(('admin', 'admin', vol.owner))
        offer = rng.choice(_OFFERS)
        server = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        yield
        caller, what = self.callers[by], f'attach {vol.name}'
        body = {'volume_uuid': vol.ident, 'instance_uuid': server}
        answer = caller.send('POST', '/attachments', {'attachment': body})
        if not self.judge(answer, Verdict.EITHER, what):
            return
        ident = answer.body['attachment']['id']
        path = f'/attachments/{ident}'
        attachment = model.Attachment(ident)
        vol.attachments[new] = attachment
        connector = {'attachment': {'connector': _connector(offer)}}
        answer = caller.send('PUT', path, connector)
        mode = _mode(vol)
        expected = _judge(vol, by, offer, mode)
        what += f' ({mode}) by {by} with {offer}'
        if self.judge(answer, expected, what):
            info = answer.body['attachment'].get('connection_info') or {}
            attachment.mode = _recorded(vol, by, offer)
            attachment.judged = not vol.shared
            same = info.get('cache_mode') == attachment.mode
            cloud.require(same or vol.shared, f'{what}: {info}')
            done = caller.send('POST', f'{path}/action', {'os-complete': {}})
            self.judge(done, Verdict.ACCEPTED, f'complete {new}')
        else:
            caller.send('DELETE', path)
            del vol.attachments[new]
        self.settle(vol)

    @machine.operation(
        lambda known: [v for v in known.volumes.values() if v.attachments]
    )
    def detach(
        self, rng: random.Random, vol: model.Volume
    ) -> machine.Operation:
        """Detach a volume."""
        attachment = rng.choice(sorted(vol.attachments))
        yield
        self.remove_attachment(vol, attachment)

    def remove_attachment(self, vol: model.Volume, name: str) -> None:
        """Remove an attachment as the administrator."""
        entry = vol.attachments[name]
        answer = self.admin.send('DELETE', f'/attachments/{entry.ident}')
        if self.judge(answer, Verdict.ACCEPTED, f'detach {name}'):
            del vol.attachments[name]
            self.settle(vol)


def _connector(offer: list[str] | None) -> dict[str, Any]:
    connector: dict[str, Any] = {
        'host': cloud.COMPUTE_HOST,
        'ip': '127.0.0.9',
        'platform': 'x86_64',
        'os_type': 'linux',
        'multipath': False,
        'initiator': 'iqn.1994-05.com.redhat:life',
    }
    if offer is not None:
        connector['rbd_host'] = {'modes': offer}
    return connector


def _mode(vol: model.Volume) -> str | None:
    """Return the requested mode, or None."""
    mode = {**vol.kind.own, **vol.keys}.get(_MODE)
    return None if vol.shared else mode


def _judge(
    vol: model.Volume, by: str, offer: list[str] | None, mode: str | None
) -> Verdict:
    if vol.backend is None or mode is None or not vol.backend.strict:
        return Verdict.ACCEPTED
    if by == 'admin' and offer and mode in offer:
        return Verdict.ACCEPTED
    return Verdict.REFUSED


def _recorded(
    vol: model.Volume, by: str, offer: list[str] | None
) -> str | None:
    """Return the mode that Cinder records, if it trusts the connector."""
    mode = _mode(vol)
    believed = by == 'admin' and offer is not None and mode in offer
    return mode if believed else None
