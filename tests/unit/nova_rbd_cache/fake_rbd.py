# SPDX-License-Identifier: Apache-2.0

"""A fake of librados, librbd and the rbd command for Nova's disks.

It keeps the created images and the configuration of each connection.
"""

from typing import Any

from tests import feature_bits

FSID = 'f0000000-0000-4000-8000-000000000001'


class Error(Exception):
    """Any error of Ceph."""


class ImageNotFound(Error):
    """The RBD image does not exist."""


class PermissionError(Error):
    """The user may not write to the pool."""


class Cluster:
    """The cluster, with the features of each image by pool and name.

    :ivar default_features: ``rbd_default_features`` of its ceph.conf
    :ivar connections: open connections
    """

    Error = Error
    ImageNotFound = ImageNotFound
    PermissionError = PermissionError
    RBD_FEATURE_LAYERING = feature_bits.LAYERING

    def __init__(
        self, default_features: str | None = str(feature_bits.DEFAULT)
    ) -> None:
        self.default_features = default_features
        self.images: dict[tuple[str, str], int] = {}
        self.connections: list[Rados] = []

    def Rados(self, **kwargs: Any) -> 'Rados':
        """Return a handle without a connection."""
        return Rados(self)

    def RBD(self) -> 'RBD':
        """Return an object that creates images."""
        return RBD(self)

    def Image(self, ioctx: 'Ioctx', name: str, **kwargs: Any) -> None:
        """Raise ImageNotFound, since there are no images to open."""
        raise ImageNotFound(name)

    def execute(self, *words: str) -> tuple[str, str]:
        """Run ``rbd import`` with Nova's arguments."""
        arguments = list(words)
        if arguments[:2] != ['rbd', 'import']:
            raise Error(f'no such command: {arguments}')
        (pool,) = _values(arguments, '--pool')
        name = arguments[arguments.index('--pool') + 3]
        features = _values(arguments, '--image-feature')
        mask = sum(BITS[each] for each in features)
        self.images[pool, name] = mask or int(
            self.default_features or feature_bits.DEFAULT
        )
        return '', ''


BITS = {
    'layering': feature_bits.LAYERING,
    'exclusive-lock': feature_bits.LOCK,
    'object-map': feature_bits.OBJECT_MAP,
    'fast-diff': feature_bits.FAST_DIFF,
    'deep-flatten': feature_bits.DEEP_FLATTEN,
    'journaling': feature_bits.JOURNALING,
}


def _values(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


class Rados:
    """A connection with its own configuration."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.config: dict[str, str] = {}
        if cluster.default_features is not None:
            self.config['rbd_default_features'] = cluster.default_features

    def connect(self, timeout: int) -> None:
        """Connect."""
        self.cluster.connections.append(self)

    def shutdown(self) -> None:
        """Disconnect."""
        self.cluster.connections.remove(self)

    def conf_get(self, option: str) -> str | None:
        """Return the value of an option in this connection."""
        return self.config.get(option)

    def conf_set(self, option: str, value: str) -> None:
        """Set an option in this connection."""
        self.config[option] = value

    def open_ioctx(self, pool: str) -> 'Ioctx':
        """Return the ioctx of a pool."""
        return Ioctx(pool)

    def get_fsid(self) -> str:
        """Return the ID of the cluster."""
        return FSID


class Ioctx:
    """The ioctx of a pool."""

    def __init__(self, pool: str) -> None:
        self.pool = pool

    def close(self) -> None:
        """Close the ioctx."""


class RBD:
    """``rbd.RBD``."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def clone(
        self,
        parent: Ioctx,
        name: str,
        snapshot: str,
        child: Ioctx,
        child_name: str,
        features: int,
    ) -> None:
        """Clone a snapshot."""
        self._cluster.images[child.pool, child_name] = features
