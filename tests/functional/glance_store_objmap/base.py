# SPDX-License-Identifier: Apache-2.0

"""Our store and the stock one, on a real Ceph or a fake."""

import hashlib
import io
import random
from typing import Any
import uuid

from glance_store import location
from glance_store._drivers import rbd as stock
from oslo_config import cfg
import testtools.content

from glance_store_objmap import store
from tests.unit import base

MIB = 1 << 20
KIB = 1 << 10

#: Pieces of one mebibyte keep the amount of test data small.
PIECE = MIB


def content(length: int, seed: int = 1) -> bytes:
    """Return random bytes, so that no two parts of an image are equal."""
    return random.Random(seed).randbytes(length)


def sha512(data: bytes) -> str:
    """Return the SHA-512 hash of data."""
    return hashlib.sha512(data).hexdigest()


def text(value: object) -> testtools.content.Content:
    """Return a value as content that a failing test shows."""
    return testtools.content.text_content(repr(value))


class Body:
    """The body of a request, with parts of limited length."""

    def __init__(self, data: bytes, most: int | None = None) -> None:
        self._stream = io.BytesIO(data)
        self._most = most

    def read(self, wanted: int) -> bytes:
        """Return at most the wanted number of bytes."""
        return self._stream.read(min(wanted, self._most or wanted))


class BreakingBody(Body):
    """A body that raises an exception at its end."""

    def __init__(self, data: bytes, error: BaseException) -> None:
        super().__init__(data)
        self._error = error

    def read(self, wanted: int) -> bytes:
        """Return bytes, and raise the exception after the last."""
        data = super().read(wanted)
        if not data:
            raise self._error
        return data


class StoreTestCase(base.TestCase):
    """Create stores on one pool of the cluster of :meth:`connect`."""

    timeout = 120

    #: Options for librados: configuration file and user.
    cluster_options: dict[str, Any]

    def setUp(self) -> None:
        super().setUp()
        self.connect()
        self.store = self.make_store()

    def connect(self) -> None:
        """Set up a cluster and :attr:`cluster_options`."""
        raise NotImplementedError

    def make_store(
        self, cls: type[stock.Store] = store.Store, **options: Any
    ) -> Any:
        """Create a store with the given options."""
        conf = cfg.ConfigOpts()
        conf.register_opt(cfg.DictOpt('enabled_backends'))
        conf([], default_config_files=[], default_config_dirs=[])
        conf.set_override('enabled_backends', {'ours': 'rbd_objmap'})
        made = cls(conf, backend='ours')
        settings = {
            'rbd_store_pool': 'images',
            'rbd_store_chunk_size': 1,
            **self.cluster_options,
            **options,
        }
        for name, value in settings.items():
            conf.set_override(name, value, group='ours')
        made.configure(re_raise_bsc=True)
        return made

    def add(
        self, data: Any, size: int | None, where: Any = None, **kwargs: Any
    ) -> Any:
        """Upload data, check the returned values and return the location."""
        raw = data if isinstance(data, bytes) else None
        ident = kwargs.pop('ident', None) or str(uuid.uuid4())
        source = io.BytesIO(data) if raw is not None else data
        uri, written, md5, sha512, metadata = (where or self.store).add(
            ident, source, size, 'sha512', **kwargs
        )
        if raw is not None:
            self.assertEqual(len(raw), written)
            self.assertEqual(hashlib.md5(raw).hexdigest(), md5)  # noqa: S324
            self.assertEqual(hashlib.sha512(raw).hexdigest(), sha512)
        self.assertEqual({'store': 'ours'}, metadata)
        self.assertTrue(uri.endswith(f'/images/{ident}/snap'), uri)
        return self.location(uri)

    def location(self, uri: str, cls: Any = store.StoreLocation) -> Any:
        """Return a location as Glance passes it to a store."""
        return location.Location('rbd', cls, cfg.ConfigOpts(), uri=uri)

    def read(self, place: Any, where: Any = None, **kwargs: Any) -> bytes:
        """Download an image from a location."""
        data, length = (where or self.store).get(place, **kwargs)
        received = b''.join(data)
        self.assertEqual(length, len(received))
        return received

    def check_same(self, expected: bytes, actual: bytes) -> None:
        """Compare data, so that a failure does not print megabytes."""
        self.assertEqual(len(expected), len(actual))
        self.assertTrue(expected == actual, 'the content differs')

    # The state of the cluster, read without the store

    def images(self) -> list[str]:
        """Return the names of the RBD images in the pool."""
        raise NotImplementedError

    def image(self, name: str) -> Any:
        """Open an RBD image."""
        raise NotImplementedError

    def stored_bytes(self, name: str) -> int:
        """Return the number of bytes that are stored for an image."""
        raise NotImplementedError
