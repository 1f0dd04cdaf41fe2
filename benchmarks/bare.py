# SPDX-License-Identifier: Apache-2.0

"""The minimal calls of librbd for each operation of a driver.

No driver can be faster than these calls: they use an open connection and an
open pool, without checks, locks or logs. Where our driver writes a record, one
write to the database is added. The steps have the same names as those of a
driver, and are measured in the same way.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterator
import json
from typing import Any

from cinder.db import api as db
from eventlet import tpool
import rados
import rbd
import records

_GIB = 1 << 30
#: 4 MiB, the default of Cinder's option rbd_store_chunk_size.
_ORDER = 22


class Bare:
    """The minimal calls for the steps of :class:`driver.Backend`."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self._records = records.Records(name)
        self._cluster = rados.Rados(
            conffile=args.conf, rados_id=args.user, name=None
        )
        self._cluster.connect()
        self._pool = args.pool
        self._ioctx = self._cluster.open_ioctx(args.pool)
        self._rbd = rbd.RBD()
        text = self._cluster.conf_get('rbd_default_features')
        self._features = int(text)

    def steps(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the operations on a volume, in order."""
        made = self._records.volume()
        name = made.name
        yield 'create', self._recorded(made, self._create, name)
        yield 'snapshot', self._call(self._snapshot, name, 'snapshot')
        clone = self._records.volume()
        yield (
            'volume from snapshot',
            self._recorded(clone, self._clone, name, 'snapshot', clone.name),
        )
        copy = self._records.volume()
        yield 'clone', self._recorded(copy, self._copy, name, copy.name)
        yield 'extend', self._recorded(made, self._extend, name)
        yield 'initialize_connection', self._call(self._ask, 'mon dump')
        yield 'statistics', self._call(self._ask, 'df', 'osd pool get-quota')
        yield 'delete a clone', self._call(self._remove, clone.name)
        tpool.execute(self._remove, copy.name)
        tpool.execute(self._remove_snapshots, name)
        tpool.execute(self._remove, name)
        plain = self._records.volume().name
        tpool.execute(self._create, plain)
        yield 'delete', self._call(self._remove, plain)

    def _call(self, function: Callable[..., Any], *args: str) -> Any:
        return lambda: tpool.execute(function, *args)

    def _recorded(
        self, volume: Any, function: Callable[..., Any], *args: str
    ) -> Any:
        def call() -> None:
            tpool.execute(function, *args)
            values = {'display_description': 'made'}
            db.volume_update(self._records.context, volume.id, values)

        return call

    def _create(self, name: str) -> None:
        self._rbd.create(
            self._ioctx,
            name,
            _GIB,
            _ORDER,
            old_format=False,
            features=self._features,
        )

    def _snapshot(self, name: str, snapshot: str) -> None:
        with rbd.Image(self._ioctx, name) as image:
            image.create_snap(snapshot)
            image.protect_snap(snapshot)

    def _clone(self, name: str, snapshot: str, target: str) -> None:
        # The layout of a clone is that of its parent, and is recorded.
        with rbd.Image(self._ioctx, name, read_only=True) as parent:
            parent.stripe_unit()
            parent.stripe_count()
            order = parent.stat()['order']
        self._rbd.clone(
            self._ioctx,
            name,
            snapshot,
            self._ioctx,
            target,
            features=self._features,
            order=order,
        )

    def _copy(self, name: str, target: str) -> None:
        self._snapshot(name, target)
        self._clone(name, target, target)

    def _extend(self, name: str) -> None:
        with rbd.Image(self._ioctx, name) as image:
            image.resize(2 * _GIB)

    def _ask(self, *prefixes: str) -> None:
        for prefix in prefixes:
            command = {'prefix': prefix, 'pool': self._pool, 'format': 'json'}
            self._cluster.mon_command(json.dumps(command), b'')

    def _remove(self, name: str) -> None:
        self._rbd.remove(self._ioctx, name)

    def _remove_snapshots(self, name: str) -> None:
        with rbd.Image(self._ioctx, name) as image:
            for each in [snapshot['name'] for snapshot in image.list_snaps()]:
                image.unprotect_snap(each)
                image.remove_snap(each)
