# SPDX-License-Identifier: Apache-2.0

"""A journal of changes, so that a killed run can be resumed.

It is a file with one JSON object per line. A line is written and synchronized
before a change begins and after it has ended, so that only the last line can
be incomplete.
"""

from collections.abc import Mapping
import datetime
import fcntl
import json
import os
import pathlib
import stat
from typing import Any

from rbd_volume_tools.command_line import outcomes

VERSION = 1

_Key = tuple[str, str, str]


class JournalError(Exception):
    """The journal cannot be used."""


class Journal:
    """The journal of a command; only one run at a time can have it.

    :param path: of the file, which is created if it does not exist
    :param command: the command that the journal belongs to
    :param cluster: fsid of the cluster; empty if the command changes no images
        itself. A journal of another command or cluster cannot be resumed: a
        name identifies a client of an earlier run only within one cluster.
    :raises JournalError: if it cannot be used
    """

    def __init__(self, path: pathlib.Path, command: str, cluster: str) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise JournalError(f'Could not open {path}: {error}') from error
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise JournalError(f'{path} is not a regular file.')
            self._lock()
            header = {
                'version': VERSION,
                'command': command,
                'cluster': cluster,
            }
            entries = self._whole_entries(header)
            #: Whether an earlier run began the journal.
            self.resumed = entries is not None
            if entries is None:
                self._write(header)
            self._done = {
                _key(entry): entry
                for entry in entries or ()
                if entry['status'] in _FINAL
            }
            #: IDs of the images or volumes whose change an earlier run began.
            self.begun = frozenset(
                entry['ident']
                for entry in entries or ()
                if entry['status'] == 'begun'
            )
            #: Names of the Ceph clients of earlier runs.
            self.clients = frozenset(
                entry['client'] for entry in entries or () if 'client' in entry
            )
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> 'Journal':
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self._file)

    def done(
        self,
        pool: str,
        image: str,
        ident: str,
        since: datetime.datetime | None = None,
    ) -> bool:
        """Return whether an earlier run has finished an image.

        :param since: the time since which it must have; None for any
        """
        entry = self._done.get((pool, image, ident))
        if entry is None or since is None:
            return entry is not None
        return datetime.datetime.fromisoformat(entry['at']) >= since

    def begin(
        self,
        pool: str,
        image: str,
        ident: str,
        client: str = '',
        **details: Any,
    ) -> None:
        """Record the beginning of a change.

        :param client: name of the Ceph client that makes the change; empty if
            a service makes it
        """
        entry = {'pool': pool, 'image': image, 'ident': ident, **details}
        if client:
            entry['client'] = client
        self._record({'status': 'begun', **entry})

    def end(self, outcome: outcomes.Outcome) -> None:
        """Record the result of a change."""
        self._record(outcome.plain())

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f'{self._path} is in use by another run.'
            ) from None

    def _whole_entries(
        self, header: Mapping[str, Any]
    ) -> list[dict[str, Any]] | None:
        """Return the entries; truncate an incomplete last line.

        :param header: the first line of the journal of this run
        :returns: None for a journal that was not begun
        :raises JournalError: if the file is another one, which is not changed
        """
        first, content = _line(header), self._path.read_bytes()
        end = content.rfind(b'\n') + 1
        start, *lines = content[:end].splitlines(keepends=True) or [content]
        try:
            entries = [json.loads(line) for line in lines]
            is_ours = start == first if end else first.startswith(start)
            if not (is_ours and all(map(_is_whole, entries))):
                raise ValueError('it has another content')
        except (RecursionError, ValueError) as error:
            raise JournalError(
                f'{self._path} is not a journal of version {VERSION} of '
                f'"{header["command"]}" and the cluster '
                f'{header["cluster"] or "(none)"}. Give another file with '
                '--journal.'
            ) from error
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)
        return entries if end else None

    def _record(self, entry: Mapping[str, Any]) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        self._write({**entry, 'at': now.isoformat()})

    def _write(self, values: Mapping[str, Any]) -> None:
        rest = memoryview(_line(values))
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            raise JournalError(
                f'Could not write {self._path}: {error}'
            ) from error


_NAMES = {'pool', 'image', 'ident', 'status', 'at'}
_TEXTS = {'pool', 'image', 'ident', 'status', 'client'}
_FINAL = {status.value for status in outcomes.FINAL}


def _is_whole(entry: Mapping[str, Any]) -> bool:
    """Return whether a line has what each entry has."""
    try:
        at = datetime.datetime.fromisoformat(entry['at'])
    except (KeyError, TypeError, ValueError):
        return False
    return (
        at.tzinfo is not None
        and entry.keys() >= _NAMES
        and all(isinstance(entry.get(name, ''), str) for name in _TEXTS)
    )


def _key(entry: Mapping[str, Any]) -> _Key:
    return entry['pool'], entry['image'], entry['ident']


def _line(values: Mapping[str, Any]) -> bytes:
    return f'{json.dumps(values)}\n'.encode()
