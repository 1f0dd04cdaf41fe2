# SPDX-License-Identifier: Apache-2.0

"""Volume services that are killed during a retype, and others that take over.

A separate program, because each service is a process that is forked before it
connects to anything. It runs one retype or migration after the other and
prints a line of JSON for each: when what was killed, and what was wrong
afterwards.

A service is killed at a line of the driver's code (``lines``), or it, its
child, or both are killed at a random moment (``moments``). Then another
service recovers: one that starts, or in half of the trials the other one of a
cluster, which has been searching for interrupted retypes all the time.

In half of the trials, the volume has an encryption key.

A service can also be stopped at a line (``pauses``) until another one has
recovered and a guest has written, and then continues. It is stopped while none
of its threads uses the database: SQLite locks the whole file for a
transaction.

Each trial has a database of its own, and removes the images that it leaves.
"""

import argparse
from collections.abc import Callable
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from typing import Any
import uuid

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from cinder.db import models
from cinder.volume import configuration
from cinder.volume import driver as cinder_driver
from cinder.volume import volume_types
from cinder.volume.drivers import rbd as stock_rbd
from oslo_config import cfg
from oslo_utils import units
import rbd
from sqlalchemy import event

from cinder_rbd_ext import driver
from cinder_rbd_ext import opts
from cinder_rbd_ext.cluster import advisory_locks
from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import recovery
from rbd_volume_options import image_record
from rbd_volume_options import keys
from tests import rbd_content

# The back ends with their pools.
_GROUP, _OTHER = 'ceph', 'other'
_POOLS = {_GROUP: 'volumes', _OTHER: 'volumes2'}
_HOST, _DESTINATION = f'host@{_GROUP}', f'host@{_OTHER}'
_CLUSTER = f'cluster@{_GROUP}'
_KINDS = _RETYPE, _MIGRATION = 'retype', 'migration'
_SIZE = 128
_OWN = {keys.STRIPE_UNIT: '1M', keys.STRIPE_COUNT: '1'}
_STRIPED = {
    keys.STRIPE_UNIT: '64K',
    keys.STRIPE_COUNT: '8',
    keys.OBJECT_MAP: 'true',
}
#: Seconds within which a volume must be usable again. The first ones are those
#: until the OSD forgets a killed client.
_LONGEST = 60.0
# The code at whose lines a service is killed.
_PACKAGE = pathlib.Path(driver.__file__).parent
_CODE = (str(_PACKAGE / 'retype'), str(_PACKAGE / 'lifecycle/migration'))

# Seconds for which a service that was killed or stopped has its locks, and
# after which a stopped one has certainly lost them.
_DURATION, _EXPIRED = 4, 6.0

_SERVICE, _CHILD, _BOTH = 'service', 'child', 'service and child'


def _configure(conf: str, directory: str) -> None:
    cfg.CONF([], project='cinder')
    cfg.CONF.set_override('host', 'host')
    cfg.CONF.set_override('state_path', directory)
    _use_database(directory)
    for group, pool in _POOLS.items():
        _settings(group)
        for name, value in (
            ('rbd_pool', pool),
            ('rbd_user', 'admin'),
            ('rbd_ceph_conf', conf),
            ('rbd_tenant_options', ','.join(_OWN)),
            ('volume_backend_name', group),
        ):
            cfg.CONF.set_override(name, value, group=group)


def _use_database(folder: str) -> None:
    url = f'sqlite:///{folder}/cinder.sqlite?timeout={_LONGEST}'
    cfg.CONF.set_override('connection', url, 'database')


def _settings(group: str) -> Any:
    settings = configuration.Configuration(
        cinder_driver.volume_opts, config_group=group
    )
    settings.append_config_values(stock_rbd.RBD_OPTS)
    settings.append_config_values(opts.backend_opts())
    return settings


def _run(function: Callable[[], Any]) -> tuple[int, int]:
    """Run a function in a forked process; return its id and its output."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            os.close(reading)
            answer = json.dumps(function()).encode()
            os.write(writing, answer)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            # librados and the database must not be closed in an orderly way.
            os._exit(0)
    os.close(writing)
    return pid, reading


def _ended(running: tuple[int, int]) -> Any:
    """Return what a function returned in a process; None if it was killed."""
    pid, reading = running
    with open(reading) as output:
        answer = output.read()
    os.waitpid(pid, 0)
    return json.loads(answer) if answer else None


class _DatabaseUse:
    """The connections to the database that the threads of a service use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections = 0
        event.listen(db.get_engine(), 'checkout', lambda *_: self._add(1))
        event.listen(db.get_engine(), 'checkin', lambda *_: self._add(-1))

    def _add(self, number: int) -> None:
        with self._lock:
            self._connections += number

    def stop(self) -> bool:
        """Stop this process if no thread uses the database.

        :returns: whether it was stopped, and goes on
        """
        with self._lock:
            if not self._connections:
                os.kill(os.getpid(), signal.SIGSTOP)
            return not self._connections


class Service:
    """A volume service of a back end, in a process of its own."""

    def __init__(
        self,
        group: str = _GROUP,
        cluster: str | None = None,
        name: str = 'host',
    ) -> None:
        objects.register_all()
        self._admin = context.get_admin_context()
        self._driver: Any = driver.RBDExtDriver(
            configuration=_settings(group),
            db=db,
            host=f'{name}@{group}',
            cluster_name=cluster,
        )
        self._driver.do_setup(self._admin)

    def _image(self, name: str, **kwargs: Any) -> Any:
        return self._driver.images.opened(name, **kwargs)

    def _volume(self, ident: str) -> Any:
        return objects.Volume.get_by_id(self._admin, ident)

    def prepare(
        self,
        type_id: str,
        snapshots: int,
        key: str | None,
    ) -> Any:
        """Return a new volume with data, and its checksums."""
        volume = objects.Volume(
            self._admin,
            size=1,
            host=_HOST,
            cluster_name=self._driver.cluster_name,
            status='available',
            volume_type_id=type_id,
            project_id='project',
            user_id='user',
            metadata=dict(_OWN),
        )
        volume.create()
        volume = self._volume(volume.id)
        self._driver.create_volume(volume)
        volume.encryption_key_id = key
        volume.save()
        with self._image(volume.name) as image:
            image.resize(_SIZE * units.Mi)
            rbd_content.write(image, 3, 4)
            for number in range(snapshots):
                image.create_snap(f'snapshot-{number}')
                image.protect_snap(f'snapshot-{number}')
                rbd_content.write(image, 6 + number, 4)
                rbd_content.write(image, 70, 1 + number)
            rbd_content.write(image, _SIZE - 1, 1)
        return volume.id, self._sums(volume.name)

    def _sums(self, name: str) -> dict[str, str]:
        with self._image(name, read_only=True) as image:
            return rbd_content.sums(image)

    def attach_and_write(self, volume: Any) -> dict[str, str]:
        """Connect a guest, which writes; return the checksums then."""
        self._driver.initialize_connection(volume, {'host': 'compute'})
        with self._image(volume.name) as image:
            rbd_content.write(image, 4, 1)
            rbd_content.write(image, 100, 1)
        return self._sums(volume.name)

    def _retype(self, ident: str, type_id: str) -> None:
        """Retype a volume as Cinder's manager does."""
        tenant = context.RequestContext('user', 'project')
        volume = self._volume(ident)
        new_type = objects.VolumeType.get_by_id(self._admin, type_id)
        done, update = self._driver.retype(tenant, volume, new_type, {}, None)
        saved = {'status': 'available', **(update or {})}
        if done:
            saved['volume_type_id'] = type_id
        volume.update(saved)
        volume.save()

    def _migrate(self, ident: str, _type_id: str) -> None:
        """Migrate a volume to the other back end as Cinder's manager does."""
        volume = self._volume(ident)
        volume.migration_status = 'migrating'
        volume.save()
        host = {
            'host': f'{_DESTINATION}#{_OTHER}',
            'capabilities': Service(_OTHER)._driver.get_volume_stats(True),
        }
        saved = {'status': volume.previous_status, 'migration_status': 'error'}
        try:
            moved, _ = self._driver.migrate_volume(self._admin, volume, host)
            if moved:
                saved |= {
                    'host': host['host'],
                    'cluster_name': None,
                    'migration_status': 'success',
                }
        finally:
            volume.update(saved)
            volume.save()

    def change(
        self,
        kind: str,
        ident: str,
        type_id: str,
        last_line: int | None = None,
        stops: bool = False,
        begins: Callable[[], None] | None = None,
    ) -> int:
        """Retype or migrate a volume; return the lines run.

        :param begins: called before the driver's method
        :param last_line: the number of the line of code at which this process
            is killed or stopped; 0 for none, None if lines are not counted
        :param stops: whether to stop it, at the first line from that at which
            it does not use the database
        """
        request = self._retype if kind == _RETYPE else self._migrate
        database = _DatabaseUse()
        lines = 0

        def trace(frame: Any, event: str, _argument: Any) -> Any:
            nonlocal lines, stops
            is_manager = frame.f_code is request.__code__
            if not (is_manager or frame.f_code.co_filename.startswith(_CODE)):
                return None
            if event == 'line':
                lines += 1
                if lines == last_line and not stops:
                    os.kill(os.getpid(), signal.SIGKILL)
                if stops and lines >= (last_line or 0):
                    stops = not database.stop()
            return trace

        if begins is not None:
            begins()
        if last_line is not None:
            sys.settrace(trace)
        request(ident, type_id)
        sys.settrace(None)
        return lines

    def is_not_begun(self, ident: str) -> bool:
        """Return whether the driver had not written its marker yet."""
        volume = self._volume(ident)
        return volume.status != 'available' and not marker.of_volume(ident)

    def search(self, until: socket.socket) -> None:
        """Search for interrupted retypes, until something is received."""
        while not select.select([until], [], [], 0.1)[0]:
            self._driver._recovery.recover_all()

    def recover(self, ident: str) -> float:
        """Recover as a service does that starts; return the seconds."""
        began = time.monotonic()
        while time.monotonic() < began + _LONGEST:
            is_left = self._driver._recovery.recover_all()
            self._driver._recovery.return_lost()
            if not is_left and self._is_settled(ident):
                break
            time.sleep(0.3)
        return round(time.monotonic() - began, 2)

    def _is_settled(self, ident: str) -> bool:
        volume = self._volume(ident)
        return bool(
            volume.status == 'available'
            and not marker.is_migrating(volume)
            and not marker.of_volume(ident)
        )

    def trashed(self, pool: str = _POOLS[_GROUP]) -> dict[str, str]:
        """Return the ids of the images in the trash of a pool, by name.

        The OSD can keep the watch of a killed child until it restarts. Then
        nobody can remove the copy before.
        """
        with stock_rbd.RADOSClient(self._driver, pool) as client:
            return {
                entry['name']: entry['id']
                for entry in rbd.RBD().trash_list(client.ioctx)
            }

    def remove_all(self) -> None:
        """Remove all images, also from the trash."""
        for pool in _POOLS.values():
            with stock_rbd.RADOSClient(self._driver, pool) as client:
                for name in rbd.RBD().list(client.ioctx):
                    rbd.RBD().trash_move(client.ioctx, name)
            self._empty_trash(pool)

    def _empty_trash(self, pool: str) -> None:
        with stock_rbd.RADOSClient(self._driver, pool) as client:
            for ident in self.trashed(pool).values():
                with contextlib.suppress(rbd.Error):
                    with rbd.Image(client.ioctx, image_id=ident) as image:
                        _remove_snapshots(image)
                    rbd.RBD().trash_remove(client.ioctx, ident, True)

    def check(
        self,
        kind: str,
        ident: str,
        is_new: bool,
        sums: Any,
    ) -> list[str]:
        """Return what is wrong with a volume, and with its pool."""
        volume = self._volume(ident)
        wrong = []
        if self._sums(volume.name) != sums:
            wrong.append('the content has changed')
        with self._image(volume.name, read_only=True) as image:
            if (image.stripe_count() == 8) != (is_new and kind == _RETYPE):
                wrong.append(f'type and image disagree: {is_new}')
            for name in [None, *(s['name'] for s in image.list_snaps())]:
                if name and not image.is_protected_snap(name):
                    wrong.append(f'{name} is not protected')
                image.set_snap(name)
                if image.flags():
                    wrong.append(f'the map of {name} is invalid')
            image.set_snap(None)
        state = self._driver.images.state_of(volume.name)
        if image_record.state_here(volume) != state:
            wrong.append('record and image disagree')
        if bool(volume.metadata) == (is_new and kind == _RETYPE):
            wrong.append(f'type and keys disagree: {volume.metadata}')
        if volume.status != 'available' or marker.is_migrating(volume):
            wrong.append(f'{volume.status}, {volume.migration_status}')
        if marker.read(volume.admin_metadata):
            wrong.append('a marker is left')
        here, other = _POOLS.values()
        has_moved = is_new and kind == _MIGRATION
        if (volume.name_id != ident) != is_new:
            wrong.append(f'the row names {volume.name}')
        if volume.provider_geometry:
            wrong.append('a token is left')
        former = f'volume-{ident}'
        is_kept = former in self.trashed(here)
        if is_kept != is_new or volume.name in self.trashed(here):
            wrong.append(f'trash of {here}: {self.trashed(here)}')
        if {former, volume.name} & self.trashed(other).keys():
            wrong.append(f'trash of {other}: {self.trashed(other)}')
        self._check_images(here, volume.name, not has_moved, wrong)
        self._check_images(other, volume.name, has_moved, wrong)
        return wrong

    def _check_images(
        self, pool: str, name: str, has_image: bool, wrong: list[str]
    ) -> None:
        with stock_rbd.RADOSClient(self._driver, pool) as client:
            names = {
                each.key.removeprefix('rbd_id.')
                for each in client.ioctx.list_objects()
                if each.key.startswith('rbd_id.')
            }
        if names != ({name} if has_image else set()):
            wrong.append(f'images of {pool}: {sorted(names)}')

    def _delete(self, volume: Any) -> None:
        with self._image(volume.name) as image:
            _remove_snapshots(image)
        self._driver.delete_volume(volume)

    def delete(self, ident: str) -> list[str]:
        """Delete a volume; return what is left of it."""
        volume = self._volume(ident)
        until = time.monotonic() + _LONGEST
        while True:
            try:
                self._delete(volume)
                break
            except (rbd.Timeout, exception.VolumeIsBusy):
                # A killed child has the image open.
                if time.monotonic() > until:
                    raise
        volume.destroy()
        left = []
        for pool in _POOLS.values():
            kept = {f'rbd_header.{x}' for x in self.trashed(pool).values()}
            with stock_rbd.RADOSClient(self._driver, pool) as client:
                left += [
                    each.key
                    for each in client.ioctx.list_objects()
                    if each.key not in kept
                ]
            self._empty_trash(pool)
        left = [key for key in left if key.startswith(('rbd_id', 'rbd_head'))]
        return [f'left: {left}'] if left else []


def _remove_snapshots(image: Any) -> None:
    for each in list(image.list_snaps()):
        if image.is_protected_snap(each['name']):
            image.unprotect_snap(each['name'])
        image.remove_snap(each['name'])


def _make_types() -> tuple[str, str]:
    """Create the database with two volume types; return their ids."""
    models.BASE.metadata.create_all(db.get_engine())
    objects.register_all()
    admin = context.get_admin_context()
    tenant_keys = ','.join(_OWN)
    plain = {keys.TENANT_OPTIONS: tenant_keys}
    return (
        volume_types.create(admin, 'plain', plain)['id'],
        volume_types.create(
            admin, 'striped', {**_STRIPED, keys.TENANT_OPTIONS: ''}
        )['id'],
    )


def _kill(pid: int, what: str, chosen: int) -> bool:
    """Kill a service, its child, or both; return whether any was there."""
    path = pathlib.Path(f'/proc/{pid}/task/{pid}/children')
    children: list[int] = []
    with contextlib.suppress(OSError):
        children = [int(word) for word in path.read_text().split()]
    if what != _SERVICE:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, chosen)
    if what != _CHILD:
        os.kill(pid, signal.SIGKILL)
    return what != _CHILD or bool(children)


def _has_ended(pid: int) -> bool:
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, pid, how) is not None


@dataclasses.dataclass(frozen=True)
class _Request:
    """A request for a retype or a migration.

    :ivar cluster: the cluster of the service; None for a service alone
    """

    kind: str
    ident: str
    type_id: str
    cluster: str | None

    def change(self, **kwargs: Any) -> int:
        """Do what is requested, as a new service."""
        service = Service(cluster=self.cluster)
        return service.change(self.kind, self.ident, self.type_id, **kwargs)


class _Trials:
    """One trial after the other; each prints its result.

    :param seed: of the random numbers
    :param types: the ids of the volume type before and after a retype
    :param folder: the folder of the database with these types alone
    """

    def __init__(self, seed: int, types: tuple[str, str], folder: str) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._plain, self._striped = types
        # Seconds that a request takes, and its lines of code, by kind.
        self._took: dict[str, float] = {}
        self._lines: dict[str, int] = {}

    def unharmed(self, kind: str) -> None:
        """Kill nothing."""

        def run(request: _Request) -> dict[str, Any]:
            running, began = self._begun(request)
            _ended(running)
            took = self._took[kind] = time.monotonic() - began
            return {'killed': 'nothing', 'took': round(took, 3)}

        self._trial(kind, run)

    def count_lines(self, kind: str) -> None:
        """Kill nothing, and count the lines."""

        def run(request: _Request) -> dict[str, Any]:
            running, _ = self._begun(request, last_line=0)
            lines = self._lines[kind] = _ended(running)
            return {'killed': 'nothing', 'lines': lines}

        self._trial(kind, run)

    def at_line(self, kind: str, part: float) -> None:
        """Kill a service at a line of its code.

        :param part: the part of the lines before it
        """
        line = 1 + int(part * self._lines[kind])

        def run(request: _Request) -> dict[str, Any]:
            _ended(self._begun(request, last_line=line)[0])
            return {'killed': _SERVICE, 'line': line}

        self._trial(kind, run)

    def paused(self, kind: str, part: float) -> None:
        """Stop a service at a line of its code until another one recovered."""
        line = 1 + int(part * self._lines[kind])

        def run(request: _Request) -> dict[str, Any]:
            running, _ = self._begun(request, last_line=line, stops=True)
            how = os.WEXITED | os.WSTOPPED | os.WNOWAIT
            status = os.waitid(os.P_PID, running[0], how)
            if status is None or status.si_status != signal.SIGSTOP:
                # The request took fewer lines than the one that was counted.
                _ended(running)
                return {'killed': 'nothing', 'line': line}
            sums = _ended(_run(lambda: _recover_beside(request)))
            os.kill(running[0], signal.SIGCONT)
            _ended(running)
            return {'killed': 'paused', 'line': line, 'sums': sums}

        self._trial(kind, run)

    def at_a_moment(self, kind: str) -> None:
        """Kill a service, its child, or both at a random moment.

        The time that a request takes changes with the load of the machine.
        """
        what = self._chance.choice((_SERVICE, _CHILD, _BOTH))
        chosen = self._chance.choice((signal.SIGKILL, signal.SIGSEGV))
        moment = self._chance.uniform(0, self._took[kind])

        def run(request: _Request) -> dict[str, Any]:
            running, began = self._begun(request)
            is_killed, after = False, 0.0
            while not is_killed and not _has_ended(running[0]):
                time.sleep(0.01)
                after = time.monotonic() - began
                is_killed = after > moment and _kill(running[0], what, chosen)
            _ended(running)
            self._took[kind] = 1.03 * self._took[kind] if is_killed else after
            killed = what if is_killed else 'nothing'
            return {'killed': killed, 'after': round(after, 3)}

        self._trial(kind, run)

    def _begun(
        self, request: _Request, **kwargs: Any
    ) -> tuple[tuple[int, int], float]:
        """Run a service; return when it begins."""
        reading, writing = os.pipe()

        def begins() -> None:
            os.write(writing, b'.')

        running = _run(lambda: request.change(begins=begins, **kwargs))
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        return running, time.monotonic()

    def _trial(self, kind: str, kill: Callable[[_Request], Any]) -> None:
        """Retype or migrate a volume, kill what runs, recover, and check."""
        snapshots = self._chance.choice((0, 2))
        key = uuid.UUID(int=self._chance.getrandbits(128))
        is_encrypted = self._chance.choice((False, True))
        cluster = self._chance.choice((None, _CLUSTER))
        folder = tempfile.mkdtemp(dir=self._folder)
        shutil.copy(f'{self._folder}/cinder.sqlite', folder)
        _use_database(folder)

        def prepare() -> Any:
            return Service(cluster=cluster).prepare(
                self._plain,
                snapshots,
                str(key) if is_encrypted else None,
            )

        ident, sums = _ended(_run(prepare))
        request = _Request(kind, ident, self._striped, cluster)
        here, remote = socket.socketpair()
        recovering = _run(lambda: self._recover(request, remote))
        here.recv(1)
        _ended(_run(lambda: _mark(kind, ident)))
        killed = kill(request)
        # A guest can have written since.
        sums = killed.pop('sums', sums)
        here.sendall(f'{json.dumps(sums)}\n'.encode())
        result = _ended(recovering) or {'wrong': ['recovery has failed']}
        if result['wrong']:
            _ended(_run(lambda: Service().remove_all()))
        here.close()
        remote.close()
        told = {
            'kind': kind,
            **killed,
            'snapshots': snapshots,
            'encrypted': is_encrypted,
            'cluster': bool(cluster),
            **result,
        }
        sys.stdout.write(f'{json.dumps(told)}\n')
        sys.stdout.flush()

    def _recover(
        self,
        request: _Request,
        is_killed: socket.socket,
    ) -> dict[str, Any]:
        """Recover as a service that starts, or as the other one of a cluster.

        :param is_killed: receives the checksums of the volume after the kill;
            sends a byte before
        """
        ident, cluster = request.ident, request.cluster
        if cluster:
            service = Service(cluster=cluster, name='other-host')
            is_killed.send(b'.')
            service.search(is_killed)
        else:
            is_killed.send(b'.')
            select.select([is_killed], [], [])
            service = Service()
        sums = json.loads(is_killed.makefile().readline())
        is_begun = not service.is_not_begun(ident)
        if cluster and not is_begun:
            # The request is lost until the killed service starts again.
            service = Service(cluster=cluster)
        took = service.recover(ident)
        volume = service._volume(ident)
        has_moved = volume.host != _HOST
        is_new = has_moved or volume.volume_type_id == self._striped
        if has_moved:
            service = Service(_OTHER)
        wrong = service.check(request.kind, ident, is_new, sums)
        return {
            'begun': is_begun,
            'new': is_new,
            'seconds': took,
            'trash': len(service.trashed()),
            'wrong': wrong + service.delete(ident),
        }


def _recover_beside(request: _Request) -> dict[str, str]:
    """Recover while the service of a request is stopped.

    Then a guest writes to the volume; its new checksums are returned.
    """
    time.sleep(_EXPIRED)
    service = Service(cluster=request.cluster, name='other-host')
    service._driver.host = f'host@{_GROUP}'
    service.recover(request.ident)
    volume = service._volume(request.ident)
    if volume.host != _HOST:
        service = Service(_OTHER)
    return service.attach_and_write(volume)


def _mark(kind: str, ident: str) -> None:
    """Set the status of a retype or a migration, as Cinder's API does."""
    objects.register_all()
    volume = objects.Volume.get_by_id(context.get_admin_context(), ident)
    status = {'status': 'retyping'}
    if kind == _MIGRATION:
        status = {'status': 'maintenance', 'migration_status': 'starting'}
    volume.update({**status, 'previous_status': 'available'})
    volume.save()


def main() -> None:
    """Run the trials."""
    parser = argparse.ArgumentParser()
    parser.add_argument('conf')
    parser.add_argument('directory')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--moments', type=int, default=0)
    parser.add_argument('--lines', type=int, default=0)
    parser.add_argument('--pauses', type=int, default=0)
    parser.add_argument('--kinds', nargs='+', choices=_KINDS, default=_KINDS)
    args = parser.parse_args()
    _configure(args.conf, args.directory)
    recovery.LOST = 0.0
    advisory_locks.DURATION = _DURATION
    advisory_locks.INTERVAL = 0.5
    types = _ended(_run(_make_types))
    trials = _Trials(args.seed, types, args.directory)
    for kind in args.kinds:
        trials.unharmed(kind)
        trials.count_lines(kind)
    # A run that is ended early has tried lines of all steps.
    count = max(args.lines, args.moments, args.pauses)
    for number in random.Random(args.seed).sample(range(count), count):
        for kind in args.kinds:
            if number < args.lines:
                trials.at_line(kind, number / args.lines)
            if number < args.pauses:
                trials.paused(kind, number / args.pauses)
            if number < args.moments:
                trials.at_a_moment(kind)


if __name__ == '__main__':
    main()
