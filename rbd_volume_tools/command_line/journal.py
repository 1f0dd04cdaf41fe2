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
            lines = self._whole_lines(header)
            self._done = {
                _key(entry): entry
                for entry in lines
                if entry.get('status') in _FINAL
            }
            #: IDs of the images or volumes whose change an earlier run began.
            self.begun = frozenset(
                entry['ident']
                for entry in lines
                if entry.get('status') == 'begun'
            )
            last = {
                entry['ident']: entry['status']
                for entry in lines
                if 'status' in entry
            }
            #: Those of them whose change no run has completed.
            self.interrupted = frozenset(
                ident for ident in self.begun if last[ident] not in _FINAL
            )
            #: Whether an earlier run wrote entries.
            self.resumed = bool(lines)
            #: Names of the Ceph clients of earlier runs.
            self.clients = frozenset(
                entry['client'] for entry in lines if 'client' in entry
            )
            if not lines:
                self._write(header)
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
        self._write({'status': 'begun', **entry})

    def end(self, outcome: outcomes.Outcome) -> None:
        """Record the result of a change."""
        self._write(outcome.plain())

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f'{self._path} is in use by another run.'
            ) from None

    def _whole_lines(self, header: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the entries; truncate an incomplete last line.

        :param header: the first entry of the journal of this run
        :raises JournalError: if the file is another one, which is not changed
        """
        content = self._path.read_bytes()
        end = content.rfind(b'\n') + 1
        try:
            entries = [json.loads(line) for line in content[:end].splitlines()]
        except (RecursionError, ValueError) as error:
            raise self._foreign() from error
        if not all(isinstance(entry, dict) for entry in entries):
            raise self._foreign()
        if not all(map(_is_whole, entries[1:])):
            raise self._foreign()
        if entries:
            self._check(entries[0], header)
        elif not _is_start(content, header):
            raise self._foreign()
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)
        return entries

    def _check(
        self, first: Mapping[str, Any], header: Mapping[str, Any]
    ) -> None:
        if first.get('version') != VERSION or not (
            first.keys() >= header.keys() and first.keys().isdisjoint(_TEXTS)
        ):
            raise self._foreign()
        if first['command'] != header['command']:
            raise JournalError(
                f'{self._path} is a journal of "{first["command"]}", not of '
                f'"{header["command"]}".'
            )
        if first.get('cluster') != header['cluster']:
            raise JournalError(
                f'{self._path} is a journal of the cluster '
                f'{first.get("cluster")}, not of {header["cluster"]}.'
            )

    def _foreign(self) -> JournalError:
        return JournalError(
            f'{self._path} is not a journal of version {VERSION}.'
        )

    def _write(self, entry: Mapping[str, Any]) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        line = json.dumps({**entry, 'at': now.isoformat()}) + '\n'
        rest = memoryview(line.encode())
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


def _is_start(content: bytes, header: Mapping[str, Any]) -> bool:
    """Return whether a text is a part of a header, whatever its time."""
    start = f'{json.dumps(header)[:-1]}, "at": '.encode()
    return content.startswith(start) or start.startswith(content)
