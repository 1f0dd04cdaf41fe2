# SPDX-License-Identifier: Apache-2.0

"""Rules that attach and detach a volume as Nova does, without a server."""

from __future__ import annotations

import random
from typing import Any
import uuid

from tests.life import cloud
from tests.life import metadata
from tests.life import model
from tests.life import rule
from tests.life import world as worlds

Verdict = metadata.Verdict
World = worlds.World

_MODE = 'rbd:cache_mode'
_OFFERS = (
    None,
    ['none', 'writethrough', 'writeback', 'directsync'],
    ['none', 'writethrough', 'writeback', 'directsync', 'unsafe'],
    ['unsafe'],
)


def _draw_attach(known: model.Model, rng: random.Random) -> rule.Args | None:
    volumes = [
        v
        for v in known.volumes.values()
        if (v.idle or (v.kind.multiattach and v.status == 'in-use'))
        and v.owner in 'ab'
        and v.backend
    ]
    if not volumes:
        return None
    volume = rng.choice(volumes)
    return {
        'volume': volume.name,
        # Nova uses a service token; these tests use an administrator.
        'by': rng.choice(('admin', 'admin', volume.owner)),
        'offer': rng.choice(_OFFERS),
        'server': str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    }


def _attach(
    world: World,
    new: str,
    volume: str,
    by: str,
    offer: list[str] | None,
    server: str,
) -> None:
    vol = rule.volume_of(world, volume)
    if vol.backend is None:
        raise rule.Missing(volume)
    caller = world.callers[by]
    body: dict[str, Any] = {
        'volume_uuid': vol.ident,
        'instance_uuid': server,
    }
    answer = caller.send('POST', '/attachments', {'attachment': body})
    if not world.judge(answer, Verdict.EITHER, f'reserve {volume}'):
        return
    ident = answer.body['attachment']['id']
    path = f'/attachments/{ident}'
    attachment = model.Attachment(ident)
    vol.attachments[new] = attachment
    connector = _connector(offer)
    answer = caller.send('PUT', path, {'attachment': {'connector': connector}})
    mode = _mode(vol)
    expected = _judge(vol, by, offer, mode)
    if world.judge(answer, expected, f'attach {volume} ({mode}) {offer}'):
        info = answer.body['attachment'].get('connection_info') or {}
        attachment.mode = _recorded(vol, by, offer)
        attachment.judged = not vol.shared
        if attachment.judged and info.get('cache_mode') != attachment.mode:
            world.violate(
                'cache-mode',
                f'{volume}, {mode}, by {by} with {offer}: {info}',
            )
        done = caller.send('POST', f'{path}/action', {'os-complete': {}})
        world.judge(done, Verdict.ACCEPTED, f'complete {new}')
    else:
        caller.send('DELETE', path)
        del vol.attachments[new]
    world.settle(vol)


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


def _draw_detach(known: model.Model, rng: random.Random) -> rule.Args | None:
    pairs = [
        (v.name, each)
        for v in known.volumes.values()
        for each in v.attachments
    ]
    if not pairs:
        return None
    volume, attachment = rng.choice(pairs)
    return {'volume': volume, 'attachment': attachment}


def detach(world: World, volume: str, attachment: str) -> None:
    """Detach a volume, as an administrator."""
    vol = rule.volume_of(world, volume)
    entry = vol.attachments.get(attachment)
    if entry is None:
        raise rule.Missing(attachment)
    answer = world.admin.send('DELETE', f'/attachments/{entry.ident}')
    if world.judge(answer, Verdict.ACCEPTED, f'detach {attachment}'):
        del vol.attachments[attachment]
        world.settle(vol)


RULES = (
    rule.Rule('attach', 4, _draw_attach, _attach, 't'),
    rule.Rule('detach', 3, _draw_detach, detach),
)
