# SPDX-License-Identifier: Apache-2.0

"""Removal of everything that failed sequences and killed runs left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.life import cloud

if TYPE_CHECKING:
    from tests.life import ceph_process
    from tests.life import machine

#: Prefix of the names of projects, types and images of a run.
PREFIX = 'life-'
_KINDS = ('volume-transfers', 'backups', 'snapshots', 'volumes')
_RESET = {
    'status': 'error',
    'attach_status': 'detached',
    'migration_status': 'none',
}
_PATIENCE = 60
_POOLS = ('volumes', 'volumes2')


def sequence(world: machine.Machine) -> None:
    """Remove everything that a sequence left."""
    for tenant in ('a', 'b'):
        ident = world.callers[tenant].project
        project(world.admin, ident)
        _images(world.cluster, cloud.rows('volumes', ident))
    for volume in world.model.volumes.values():
        if volume.owner == 'admin':
            _one(world.admin, f'/volumes/{volume.ident}')
    for stray in world.model.strays.values():
        world.cluster.remove(stray.backend.pool, stray.image)


def killed_runs(admin: cloud.Caller, cluster: ceph_process.Cluster) -> None:
    """Remove everything that killed runs left."""
    identity = admin.connection.identity
    for each in identity.projects():
        if each.name.startswith(PREFIX):
            project(admin, each.id)
            identity.delete_project(each)
    for user in identity.users():
        if user.name.startswith(PREFIX):
            identity.delete_user(user)
    for volume in admin.get('/volumes/detail').body['volumes']:
        if volume['volume_type'].startswith(PREFIX):
            _one(admin, f'/volumes/{volume["id"]}')
    for kind in admin.get('/types?is_public=None').body['volume_types']:
        if kind['name'].startswith(PREFIX):
            admin.send('DELETE', f'/types/{kind["id"]}')
    for image in admin.connection.image.images():
        if image.name.startswith(PREFIX):
            admin.connection.image.delete_image(image)
    for pool in _POOLS:
        for name in cluster.names(pool):
            if name.startswith(PREFIX):
                cluster.remove(pool, name)


def project(admin: cloud.Caller, ident: str) -> None:
    """Remove all resources of a project."""
    query = f'?all_tenants=1&project_id={ident}'
    servers = admin.get(f'/servers{query}', 'compute').body['servers']
    for each in servers:
        admin.send('DELETE', f'/servers/{each["id"]}', service='compute')
    deadline = time.monotonic() + _PATIENCE
    while servers and time.monotonic() < deadline:
        time.sleep(0.3)
        servers = admin.get(f'/servers{query}', 'compute').body['servers']
    images = admin.get(f'/images?owner={ident}', 'image').body['images']
    for each in images:
        admin.send('DELETE', f'/images/{each["id"]}', service='image')
    for kind in _KINDS:
        body = admin.get(f'/{kind}/detail{query}').body
        for each in body[kind.removeprefix('volume-')]:
            if each.get('project_id', ident) == ident:
                _one(admin, f'/{kind}/{each["id"]}')


def _images(cluster: ceph_process.Cluster, volumes: list[str]) -> None:
    """Remove the RBD images of volumes, clones before their parents."""
    for pool in (*_POOLS, *_POOLS):
        for name in cluster.names(pool):
            if any(ident in name for ident in volumes):
                cluster.remove(pool, name)


def _one(admin: cloud.Caller, path: str) -> None:
    record: cloud.Record = next(iter(admin.get(path).body.values()), {})
    for each in record.get('attachments', ()):
        admin.send('DELETE', f'/attachments/{each["attachment_id"]}')
    action, status = f'{path}/action', record.get('status', '')
    if path.startswith('/volumes/'):
        admin.send('POST', action, {'os-reset_status': _RESET})
    elif status and not status.startswith(('error', 'avail')):
        admin.send('POST', action, {'os-reset_status': {'status': 'error'}})
    admin.send('DELETE', path)
    deadline = time.monotonic() + _PATIENCE
    while admin.get(path).status != 404 and time.monotonic() < deadline:
        time.sleep(0.3)
