# SPDX-License-Identifier: Apache-2.0

"""The properties of a shared connection: cluster, user, key, timeout."""

import dataclasses
import hashlib
import os
import pathlib
import re

from cinder_rbd_ext import protocols

# Paths where librados searches for ceph.conf if no path is given.
_DEFAULT_CONF = ('/etc/ceph/{name}.conf', '~/.ceph/{name}.conf', '{name}.conf')


@dataclasses.dataclass(frozen=True)
class Place:
    """The cluster and the user of a connection.

    :ivar conf: the path of its configuration; empty for librados' default
    :ivar timeout: timeout of the connection in seconds; negative for librados'
        default
    """

    name: str | None
    conf: str | None
    user: str | None
    timeout: int


class Digests:
    """Digests of the files that a new connection would read.

    A connection hangs some time after its user's key was rotated. Modification
    times do not show every rotation, so the content is compared.
    """

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._key_files: dict[tuple[Place, bytes], list[str]] = {}

    def digest(self, place: Place) -> str:
        """Return a digest of the configuration and of the keys of a user."""
        texts = hashlib.sha256()
        for name in _configurations(place):
            texts.update(_read(name))
        key = (place, texts.digest())
        files = self._key_files.get(key)
        if files is None:
            files = self._key_files[key] = self._find_key_files(place)
        for name in files:
            texts.update(b'\0' + _read(name))
        return texts.hexdigest()

    def _find_key_files(self, place: Place) -> list[str]:
        rados = self._driver.rados
        try:
            # This client does not connect; it only reads the configuration.
            handle = rados.Rados(
                rados_id=place.user,
                clustername=place.name,
                conffile=place.conf,
            )
        except rados.Error:
            # Opening the connection reports the error.
            return []
        listed = [handle.conf_get(each) for each in ('keyring', 'keyfile')]
        handle.shutdown()
        return [
            name
            for each in listed
            for name in re.split(r'[;,=\s]+', each or '')
            if name
        ]


def _configurations(place: Place) -> list[str]:
    if place.conf:
        return [place.conf]
    named = os.environ.get('CEPH_CONF')
    if named:
        return named.split(',')
    return [
        os.path.expanduser(each.format(name=place.name))
        for each in _DEFAULT_CONF
    ]


def _read(name: str) -> bytes:
    try:
        return pathlib.Path(name).read_bytes()
    except OSError:
        return b''
