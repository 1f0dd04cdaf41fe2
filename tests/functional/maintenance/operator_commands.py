# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext`` in a process, with records of a cloud from a file.

Its first argument is a JSON object, in which these can be set:

``kill_at``
    number of the rebuild in the middle of which the process is killed
``freeze``
    process that is stopped after the image was opened for a change
``freeze_before``
    process that is stopped before its answer is awaited
``patience``
    seconds within which a client must answer
``connect_seconds``
    seconds within which a monitor must respond
``storage``
    URL of Cinder's API; the records are not read then
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import sys
import time
from typing import Any
from unittest import mock

import requests

from rbd_volume_tools import shell
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan
from rbd_volume_tools.fleet import alive
from rbd_volume_tools.fleet import object_maps


def as_json(known: records.Records) -> str:
    """Return records as text."""
    return json.dumps(
        {
            'volumes': {
                k: dataclasses.asdict(v) for k, v in known.volumes.items()
            },
            'images': sorted(known.images or ()),
            'servers': sorted(known.servers or ()),
            'types': known.types,
            'backends': known.backends,
            'cloud_id': known.cloud_id,
            'located': {k: sorted(v) for k, v in known.located.items()},
        }
    )


def _from_json(text: str) -> records.Records:
    plain = json.loads(text)
    return records.Records(
        {k: records.Volume(**v) for k, v in plain['volumes'].items()},
        frozenset(),
        frozenset(),
        plain['backends'],
        frozenset(plain['images']),
        frozenset(plain['servers']),
        plain['types'],
        cloud_id=plain['cloud_id'],
        located={k: frozenset(v) for k, v in plain['located'].items()},
        marking=frozenset(plain['backends']),
    )


class _Now:
    """What the cloud has at the moment of a call: the records."""

    def __init__(self, known: records.Records) -> None:
        self._known = known

    def has_record(self, owner: names.Owner, ident: str) -> bool:
        """Return whether there is a record."""
        known = self._known
        return ident in {*(known.images or ()), *(known.servers or ())}

    def volume(self, ident: str) -> records.Volume | None:
        """Return a volume."""
        return self._known.volumes.get(ident)


def _stop(pid: int) -> None:
    """Stop a process, and wait until all its threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    while any(state != 'T' for state in _states(pid)):
        time.sleep(0.01)


def _states(pid: int) -> Iterator[str]:
    for each in pathlib.Path(f'/proc/{pid}/task').glob('*/stat'):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield each.read_text().rpartition(') ')[2][0]


class _Disturbed(object_maps.ObjectMaps):
    """Kills or stops a process while an image is open."""

    kill_at = 0
    freeze = 0
    freeze_before = 0

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Any]:
        if self.freeze_before:
            _stop(self.freeze_before)
        with super()._changing() as image:
            if self.freeze:
                _stop(self.freeze)
            yield image

    def rebuild(self) -> int:
        """Rebuild; the fatal one rebuilds the head only."""
        _Disturbed.kill_at -= 1
        if not _Disturbed.kill_at:
            with self._opened() as image:
                image.rebuild_object_map()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().rebuild()


class _Storage:
    """Cinder's API, without authentication."""

    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str, microversion: str = '') -> requests.Response:
        """Return the response to a GET request."""
        return requests.get(f'{self._url}{path}', timeout=30)

    def post(self, path: str, json: Any) -> requests.Response:
        """Return the response to a POST request."""
        return requests.post(f'{self._url}{path}', json=json, timeout=30)


def main(encoded: str, path: str, *arguments: str) -> int:
    """Run the program and return its exit status."""
    settings = json.loads(encoded)
    _Disturbed.kill_at = settings.get('kill_at', 0)
    _Disturbed.freeze = settings.get('freeze', 0)
    _Disturbed.freeze_before = settings.get('freeze_before', 0)
    if patience := settings.get('patience'):
        alive.PATIENCE, alive.INTERVAL = patience, 1
    if seconds := settings.get('connect_seconds'):
        scan.CONNECT_SECONDS = seconds

    def read(*args: Any) -> records.Records:
        return _from_json(pathlib.Path(path).read_text())

    with (
        mock.patch.object(records, 'of_cloud', autospec=True) as of_cloud,
        mock.patch.object(records, 'CloudNow', lambda cloud: _Now(read())),
        mock.patch.object(shell.Shell, 'cloud', autospec=True) as cloud,
        mock.patch.object(object_maps, 'ObjectMaps', _Disturbed),
        mock.patch('importlib.metadata.version', autospec=True) as version,
    ):
        of_cloud.side_effect = read
        version.return_value = '1'
        config = cloud.return_value.config
        config.get_auth_args.return_value = {'auth_url': 'url'}
        config.get_region_name.return_value = ''
        if url := settings.get('storage'):
            cloud.return_value.block_storage = _Storage(url)
        return shell.main(arguments)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
