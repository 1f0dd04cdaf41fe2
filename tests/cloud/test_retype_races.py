# SPDX-License-Identifier: Apache-2.0


"""Requests that meet a change of the layout of their volume.

Each trial requests a retype to a type with another layout, and at a random
moment around it another operation on the same volume. By default some
operations meet one retype each. The long form has as many trials as the
environment variable says, with all operations, and prints its figures.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
from concurrent import futures
import contextlib
import itertools
import logging
import os
import pathlib
import random
import signal
import time
from typing import Any
from typing import ClassVar
import unittest
import uuid

import rados
import rbd

from tests import rbd_content
from tests.cloud import base
from tests.cloud import clustered

#: Number of trials of the long form, and how many run at the same time.
TRIALS = 'RBD_TEST_RACES'
AT_ONCE = 'RBD_TEST_RACES_AT_ONCE'

_CONNECTOR = {
    'host': 'race',
    'ip': '127.0.0.1',
    'platform': 'x86_64',
    'os_type': 'linux',
    'multipath': False,
}
# Statuses in which a volume or a snapshot stays.
_FINAL = ('available', 'error', 'error_deleting', 'error_extending', 'in-use')
_GONE = 'gone'
# The largest size to which a volume is extended, in GiB.
_LARGEST = 4


@contextlib.contextmanager
def _opened(name: str) -> Iterator[Any]:
    with (
        rados.Rados(conffile='', rados_id='admin') as client,
        client.open_ioctx('volumes') as ioctx,
        rbd.Image(ioctx, name) as image,
    ):
        yield image


def _services() -> set[int]:
    """Return the process ids of the volume services."""
    pids = set()
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            command = folder.joinpath('cmdline').read_bytes().split(b'\0')
            if any(part.endswith(b'/cinder-volume') for part in command[:3]):
                pids.add(int(folder.name))
    return pids


def _copying(name: str) -> int | None:
    """Return the process id of the child that copies an image."""
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            command = folder.joinpath('cmdline').read_bytes().split(b'\0')
            if command[0] == b'rbd' and name.encode() in command:
                return int(folder.name)
    return None


class _Volume:
    """A volume with data and a snapshot.

    :ivar image: the name of its image
    :ivar sums: checksums of the head and of the snapshot
    """

    def __init__(self, case: 'RacesTest') -> None:
        self.size = 1
        self.id = case.make({'size': 1, 'volume_type': case.types[0]})
        self.image = f'volume-{self.id}'
        case.settled('volumes', self.id)
        self._write(3)
        self.snapshot = case.make_snapshot(self.id)
        case.settled('snapshots', self.snapshot)
        self._write(4)
        self.sums = self.read(self.image)

    def _write(self, count: int) -> None:
        with _opened(f'volume-{self.id}') as image:
            for at in (0, 5, 700, 1023)[:count]:
                rbd_content.write(image, at, 1)

    def read(self, name: str) -> dict[str, str]:
        """Return the checksums of an image, with snapshots of the volume."""
        with _opened(name) as image:
            sums = rbd_content.sums(image)
        kept = ('', f'snapshot-{self.snapshot}')
        return {name: sums[name] for name in kept if name in sums}

    @property
    def head(self) -> str:
        return self.sums['']

    @property
    def at_snapshot(self) -> str:
        return self.sums[f'snapshot-{self.snapshot}']


class RacesTest(base.CloudTestCase):
    timeout = 120 + 20 * int(os.environ.get(TRIALS, 15))
    #: Extra specs of all volume types.
    specs: ClassVar[dict[str, str]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.seen: collections.Counter[tuple[str, ...]] = collections.Counter()
        self.faults: list[str] = []
        # The sizes of objects tell which type an image belongs to.
        self.types = [
            self.make_type(rbd_object_size='4M', **self.specs),
            self.make_type(rbd_object_size='1M', **self.specs),
        ]
        self.third = self.make_type(rbd_object_size='512K', **self.specs)
        self.sizes = dict(
            zip((*self.types, self.third), (22, 20, 19), strict=True)
        )

    # What a trial can do. Each returns the response to its request.

    def make(self, body: dict[str, Any]) -> str:
        answer = self.request('POST', '/volumes', {'volume': body})
        return str(answer['volume']['id'])

    def make_snapshot(self, volume: str) -> str:
        body = {'snapshot': {'volume_id': volume}}
        return str(self.request('POST', '/snapshots', body)['snapshot']['id'])

    def settled(self, kind: str, ident: str, seconds: float = 300) -> str:
        """Wait until a resource does not change; return its status."""

        def status() -> str | None:
            response = self.respond('GET', f'/{kind}/{ident}')
            if response.status_code == 404:
                return _GONE
            record = response.json()[kind.rstrip('s')]
            return record['status'] if record['status'] in _FINAL else None

        return str(self.until(status, seconds))

    def discard(self, kind: str, ident: str) -> None:
        """Delete a resource that the trial has created.

        A snapshot is not deleted before the retype of its volume has ended.
        """

        def is_deleted() -> bool:
            self.respond('DELETE', f'/{kind}/{ident}')
            return self.settled(kind, ident) == _GONE

        self.until(is_deleted)

    def _act(self, volume: _Volume, **action: Any) -> Any:
        path = f'/volumes/{volume.id}/action'
        return self.respond('POST', path, action)

    def clone(self, volume: _Volume) -> Any:
        return self._new(volume.head, source_volid=volume.id, size=volume.size)

    def create_from_snapshot(self, volume: _Volume) -> Any:
        size = volume.size
        return self._new(
            volume.at_snapshot, snapshot_id=volume.snapshot, size=size
        )

    def _new(self, expected: str, **body: Any) -> Any:
        response = self.respond('POST', '/volumes', {'volume': body})
        if response.status_code < 300:
            ident = response.json()['volume']['id']
            status = self.settled('volumes', ident)
            if status != 'available':
                self.faults.append(f'the new volume {ident} is {status}')
            else:
                with _opened(f'volume-{ident}') as image:
                    if rbd_content.sums(image)[''] != expected:
                        self.faults.append(f'{ident} has other content')
            self.discard('volumes', ident)
        return response

    def create_snapshot(self, volume: _Volume) -> Any:
        body = {'snapshot': {'volume_id': volume.id}}
        response = self.respond('POST', '/snapshots', body)
        if response.status_code < 300:
            ident = response.json()['snapshot']['id']
            status = self.settled('snapshots', ident)
            if status != 'available':
                self.faults.append(f'the new snapshot {ident} is {status}')
            self.discard('snapshots', ident)
        return response

    def delete_snapshot(self, volume: _Volume) -> Any:
        response = self.respond('DELETE', f'/snapshots/{volume.snapshot}')
        if response.status_code < 300:
            status = self.settled('snapshots', volume.snapshot)
            if status not in (_GONE, 'available'):
                self.faults.append(f'the deleted snapshot is {status}')
            if status == _GONE:
                volume.sums.pop(f'snapshot-{volume.snapshot}')
        return response

    def extend(self, volume: _Volume) -> Any:
        response = self._act(volume, **{'os-extend': {'new_size': 1}})
        if volume.size < _LARGEST:
            grown = {'new_size': volume.size + 1}
            response = self._act(volume, **{'os-extend': grown})
            if response.status_code < 300:
                volume.size += 1
        return response

    def change_metadata(self, volume: _Volume) -> Any:
        path = f'/volumes/{volume.id}/metadata'
        body = {'metadata': {'rbd:cache_mode': 'none', 'a': 'b'}}
        return self.respond('POST', path, body)

    def second_retype(self, volume: _Volume) -> Any:
        body = {'new_type': self.third, 'migration_policy': 'never'}
        return self._act(volume, **{'os-retype': body})

    def attach(self, volume: _Volume) -> Any:
        body = {
            'attachment': {
                'volume_uuid': volume.id,
                'instance_uuid': str(uuid.uuid4()),
                'connector': _CONNECTOR,
            }
        }
        response = self.respond('POST', '/attachments', body)
        if response.status_code < 300:
            ident = response.json()['attachment']['id']
            self.respond('DELETE', f'/attachments/{ident}')
        return response

    def delete(self, volume: _Volume) -> Any:
        return self.respond('DELETE', f'/volumes/{volume.id}?cascade=true')

    def backup(self, volume: _Volume) -> Any:
        body = {'backup': {'volume_id': volume.id}}
        response = self.respond('POST', '/backups', body)
        if response.status_code < 300:
            ident = response.json()['backup']['id']
            status = self.settled('backups', ident)
            if status != 'available':
                self.faults.append(f'the backup is {status}')
            self.discard('backups', ident)
        return response

    def transfer(self, volume: _Volume) -> Any:
        body = {'transfer': {'volume_id': volume.id, 'no_snapshots': True}}
        response = self.respond('POST', '/volume-transfers', body)
        if response.status_code < 300:
            ident = response.json()['transfer']['id']
            self.respond('DELETE', f'/volume-transfers/{ident}')
        return response

    def segmentation_fault(self, volume: _Volume) -> None:
        self._end_child(volume, signal.SIGSEGV)

    def abort(self, volume: _Volume) -> None:
        self._end_child(volume, signal.SIGABRT)

    def _end_child(self, volume: _Volume, number: int) -> None:
        """Have the child process that copies the image crash."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            child = _copying(volume.image)
            if child is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, number)
                return
            time.sleep(0.02)
        self.seen[('no child to end',)] += 1

    #: The operations that meet a retype.
    RACERS = (
        clone,
        create_from_snapshot,
        create_snapshot,
        delete_snapshot,
        extend,
        change_metadata,
        second_retype,
        attach,
        delete,
        backup,
        transfer,
        segmentation_fault,
        abort,
    )

    #: Those of the short form.
    SAMPLE = (clone, create_snapshot, delete_snapshot, extend, delete, abort)

    # The trials

    def _trial(
        self, volume: _Volume, racer: Callable[..., Any], delay: float
    ) -> bool:
        """Run a trial; return whether the volume can be used again."""
        current = self.show(volume.id)['volume_type']
        target = self.types[self.types[0] == current]

        def retype() -> Any:
            time.sleep(max(0.0, -delay))
            body = {'new_type': target, 'migration_policy': 'never'}
            return self._act(volume, **{'os-retype': body})

        def race() -> Any:
            time.sleep(max(0.0, delay))
            return racer(self, volume)

        with futures.ThreadPoolExecutor(2) as pool:
            ours, theirs = pool.submit(retype), pool.submit(race)
            responses = ours.result(), theirs.result()
        codes = [r.status_code if r is not None else 0 for r in responses]
        name = racer.__name__
        for response in responses:
            if response is not None and response.status_code >= 500:
                self.faults.append(f'{name}: {response.text}')
        status = self.settled('volumes', volume.id)
        outcome = status
        if status == 'available':
            outcome = self._check(volume, current, target)
        elif status != _GONE or racer is not RacesTest.delete:
            self.faults.append(f'{name}: volume {volume.id} is {status}')
        kind = (name, *map(str, codes), outcome)
        self.seen[kind] += 1
        return status == 'available' and name != 'delete_snapshot'

    def _check(self, volume: _Volume, former: str, target: str) -> str:
        """Check type, layout and content; return which type it has."""
        record = self.show(volume.id)
        volume.image = name = self.image_name(volume.id)
        with _opened(name) as image:
            order = image.stat()['order']
            size = image.size() >> 30
        if order != self.sizes[record['volume_type']]:
            self.faults.append(f'{name}: order {order}, {record}')
        if size != record['size']:
            self.faults.append(f'{name}: {size} GiB, {record}')
        if volume.read(name) != volume.sums:
            self.faults.append(f'{name} has other content')
        kinds = {former: 'old type', target: 'new type'}
        return kinds.get(record['volume_type'], 'third type')

    def _work(self, trials: list[tuple[Callable[..., Any], float]]) -> None:
        volume = None
        for racer, delay in trials:
            try:
                if volume is None:
                    volume = _Volume(self)
                if not self._trial(volume, racer, delay):
                    self._give_up(volume)
                    volume = None
            except Exception as error:
                self.faults.append(f'{racer.__name__}: {error!r}')
                volume = None
        if volume:
            self._give_up(volume)

    def _give_up(self, volume: _Volume) -> None:
        self.respond('DELETE', f'/volumes/{volume.id}?cascade=true')
        if self.settled('volumes', volume.id) != _GONE:
            self.faults.append(f'volume {volume.id} cannot be deleted')

    def test_requests_that_meet_a_change_of_the_layout(self) -> None:
        at_once = int(os.environ.get(AT_ONCE, 3))
        racers = self.RACERS if TRIALS in os.environ else self.SAMPLE
        count = int(os.environ.get(TRIALS, len(racers)))
        trials = [
            (racer, random.uniform(-0.3, 2))
            for racer in itertools.islice(itertools.cycle(racers), count)
        ]
        # A report of hundreds of trials with each request is not read.
        for name in ('keystoneauth', 'urllib3'):
            logging.getLogger(name).setLevel(logging.WARNING)
        services = _services()
        self.assertNotEqual(set(), services)
        self.addCleanup(self._report, time.monotonic())
        with futures.ThreadPoolExecutor(at_once) as pool:
            list(
                pool.map(
                    self._work, (trials[n::at_once] for n in range(at_once))
                )
            )
        self.assertEqual([], self.faults)
        self.assertEqual(services, _services())

    def _report(self, began: float) -> None:
        """Print the figures of the long form, also after a failure."""
        if TRIALS in os.environ:
            print(f'{time.monotonic() - began:.0f} s')
            for outcome, times in sorted(self.seen.items()):
                print(times, *outcome)
            print('\n'.join(self.faults))


@unittest.skipUnless(TRIALS in os.environ, f'{TRIALS} is not set')
class TwoServicesRacesTest(RacesTest, clustered.TwoServicesTestCase):
    """The same with two volume services of one cluster."""

    specs: ClassVar[dict[str, str]] = {
        'volume_backend_name': clustered.BACKEND
    }
