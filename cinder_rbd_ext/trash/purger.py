# SPDX-License-Identifier: Apache-2.0

"""Removal of the images that the driver has moved to the trash of its pool.

One purger works on a pool at a time: the service that holds the lease, an
advisory lock on an object of the pool, which ends by itself if the service is
killed. The list is the trash. Nothing else is stored, so a purger begins and
ends anywhere; a second one that runs for some seconds, after the first was
stopped for longer than the lease, only repeats removals of the same images.

Before an image is removed, it is in the trash with a valid mark, its delay is
over, and no client has it open. A kill leaves it there with less data. Its
parents are released after it is gone; a kill before that leaves what
:mod:`cinder_rbd_ext.trash.relatives` finds later.

Images with live clones, through snapshots that were deleted before them, would
wait for years: the clones are flattened, as by the stock driver. What cannot
be removed yet gets the reason as image metadata, for the metrics.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
import contextlib
import errno
import functools
import json
import socket
import threading
import time
from typing import Any
import uuid

from cinder import context
from cinder import objects
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import opts
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from cinder_rbd_ext.cluster import capacity
from cinder_rbd_ext.cluster import connections
from cinder_rbd_ext.trash import entries
from cinder_rbd_ext.trash import relatives
from rbd_volume_options import bindings
from rbd_volume_options import image_handles
from rbd_volume_options import ownership
from rbd_volume_options import trash_mark

LOG = logging.getLogger(__name__)

#: The object of the lease, and the name of the lock.
OBJECT = 'rbd_volume_options.purger'
_LOCK = 'purger'
#: Seconds after which the lease of a killed service ends, and between two
#: renewals.
LEASE = 60
RENEWAL = 15.0
#: Seconds between two looks at the trash, with deferred deletion at most its
#: interval.
INTERVAL = 10.0
#: Seconds between two searches for deleted sources whose clones have ended.
RARELY = 60.0
#: Maximum number of seconds until a blocked image is tried again.
LONGEST = 600.0

# Renews the lease, and fails if it was lost.
_MUST_RENEW = 2
# Health checks of Ceph during which nothing is removed: the cluster has to
# restore data. Those that begin like the second kind are ended by removals.
_DEGRADED = frozenset({'PG_AVAILABILITY', 'PG_DAMAGED', 'PG_DEGRADED'})
_FULL = ('OSD_BACKFILLFULL', 'OSD_FULL', 'OSD_NEARFULL', 'POOL_FULL')
_NO_POOL = -1


class Purger:
    """Removes the images in the trash of a back end's pool."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver
        self._marks = entries.Marks(driver)
        self._wake = threading.Event()
        self._cookie = str(uuid.uuid4())
        self._thread: threading.Thread | None = None
        #: The projects of the images that are being removed, by their ids.
        self._running: dict[str, str] = {}
        #: When a project had its last turn.
        self._last: dict[str, float] = {}
        #: For each blocked image, the time and the pause of the next attempt.
        self._blocked: dict[str, tuple[float, float]] = {}
        self._next_search = float('-inf')
        self._is_paused = False

    def start(self) -> None:
        """Create what a full pool would refuse, and begin."""
        try:
            prepare = functools.partial(
                entries.prepare, self._driver.rados, (OBJECT,)
            )
            entries.in_pool(self._driver, prepare)
        except self._driver.rados.Error:
            LOG.exception('Could not prepare the trash; is the pool full?')
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Look at the trash now."""
        self._wake.set()

    @property
    def delay(self) -> int:
        """The seconds for which deleted volumes stay in the trash."""
        settings = self._driver.configuration
        if not settings.enable_deferred_deletion:
            return 0
        return int(settings.deferred_deletion_delay)

    def takes(self, image: bindings.Image) -> bool:
        """Return whether the removal of an open image is left to the purger.

        :param image: of a volume that is being deleted
        """
        return bool(
            self._driver.configuration.enable_deferred_deletion
            or image_handles.is_slow_to_remove(image)
        )

    def has_images(self) -> bool:
        """Return whether there are images in the trash, of anybody."""
        listed = functools.partial(entries.trash_of, self._driver.rbd)
        return bool(entries.in_pool(self._driver, listed))

    def run_once(self) -> None:
        """Remove what can be removed now, and wait for it."""
        with rbd.RADOSClient(self._driver) as client:
            self._next_search = float('-inf')
            self._blocked.clear()
            for entry in self._due(client):
                self._purge(entry)

    # The lease

    @property
    def _lock(self) -> str:
        """The name of the lock: each cloud purges its own images."""
        cloud_id = self._driver.settings.cloud_id
        return f'{_LOCK}.{cloud_id}' if cloud_id else _LOCK

    def _run(self) -> None:
        while True:
            try:
                # It stays open for the lease.
                with connections.own_connection():
                    client = rbd.RADOSClient(self._driver)
                with client:
                    connections.limit_monitors(client.cluster)
                    self._lead(client)
            except Exception as error:
                LOG.warning('Could not purge the trash: %s', error)
            # Removals that were begun go on.
            self._is_paused = False
            self._wake.wait(RENEWAL)
            self._wake.clear()

    def _lead(self, client: protocols.Client) -> None:
        """Purge while this service has the lease."""
        flags, next_look = 0, float('-inf')
        while self._has_lease(client.ioctx, flags):
            flags = _MUST_RENEW
            if self._wake.is_set() or time.monotonic() >= next_look:
                self._wake.clear()
                next_look = time.monotonic() + self._interval()
                try:
                    self._begin(client)
                except Exception:
                    # With another connection, the lease could be taken only
                    # after its end.
                    releases.off_the_hub(client.ioctx).unlock(
                        OBJECT, self._lock, self._cookie
                    )
                    raise
            self._wake.wait(min(RENEWAL, self._interval()))

    def _interval(self) -> float:
        settings = self._driver.configuration
        return float(
            settings.deferred_deletion_purge_interval
            if settings.enable_deferred_deletion
            else INTERVAL
        )

    def _has_lease(self, ioctx: Any, flags: int) -> bool:
        lock = releases.off_the_hub(ioctx).lock_exclusive
        try:
            lock(
                *(OBJECT, self._lock, self._cookie),
                *(socket.gethostname(), LEASE, flags),
            )
        except (
            self._driver.rados.ObjectBusy,
            self._driver.rados.ObjectExists,
            self._driver.rados.ObjectNotFound,
        ):
            return False
        return True

    # What is next

    def _begin(self, client: protocols.Client) -> None:
        """Begin the removals that there are places for."""
        self._is_paused = self._is_degraded(client)
        places = self._driver.configuration.safe_get(opts.PURGES)
        if self._is_paused or len(self._running) >= places:
            return
        for entry in self._in_turn(self._due(client), places):
            self._running[entry.image_id] = entry.mark.project
            thread = threading.Thread(
                target=self._run_purge, args=(entry,), daemon=True
            )
            try:
                thread.start()
            except RuntimeError:
                # The process has too many threads.
                del self._running[entry.image_id]
                raise

    def _due(self, client: protocols.Client) -> list[entries.Entry]:
        """Return the images that may be removed now, the oldest first."""
        now = time.monotonic()
        if now >= self._next_search:
            self._next_search = now + RARELY
            relatives.Relatives(self._driver, client).settle_marked()
        list_entries = releases.off_main_thread(self._marks.entries)
        listed = sorted(list_entries(client.ioctx), key=lambda e: e.mark.at)
        ends_early = self._early_ends(listed)
        remainders = {
            entry.mark.volume
            for entry in listed
            if entry.mark.kind == trash_mark.REMAINDER
        }
        not_ours = remainders - _deleted_volumes(remainders)
        # Removals change it meanwhile.
        for image_id in set(self._blocked) - {e.image_id for e in listed}:
            self._blocked.pop(image_id, None)
        return [
            entry
            for entry in listed
            if entry.image_id not in self._running
            and entry.mark.volume not in not_ours
            and self._blocked.get(entry.image_id, (0.0,))[0] <= now
            and (entry.is_expired or entry.image_id in ends_early)
        ]

    def _early_ends(self, listed: Iterable[entries.Entry]) -> set[str]:
        """Return the ids of former images of volumes that are kept no longer.

        The quota does not count them, so only the last one of a volume is
        kept, and none of a volume that is deleted or of a pool with little
        space.

        :param listed: in the order of their marks
        """
        kept = [e for e in listed if e.mark.kind == trash_mark.KEPT]
        if self._is_low():
            return {entry.image_id for entry in kept}
        last = {entry.mark.volume: entry.image_id for entry in kept}
        if not self._driver.configuration.enable_deferred_deletion:
            for volume_id in _deleted_volumes(last):
                del last[volume_id]
        return {entry.image_id for entry in kept} - set(last.values())

    def _is_low(self) -> bool:
        stats = self._driver._stats
        free = stats.get('free_capacity_gb')
        total = stats.get('total_capacity_gb')
        numbers = int, float
        return (
            isinstance(free, numbers)
            and isinstance(total, numbers)
            and free < total * capacity.LOW
        )

    def _in_turn(
        self, due: Iterable[entries.Entry], places: int
    ) -> list[entries.Entry]:
        """Return the next images: projects take turns.

        While it has several places, a project never has the last one, so that
        an image of another project does not wait for hours.
        """
        waiting: dict[str, collections.deque[entries.Entry]] = {}
        for entry in due:
            project = entry.mark.project
            waiting.setdefault(project, collections.deque()).append(entry)
        running = collections.Counter(list(self._running.values()))
        chosen: list[entries.Entry] = []
        while running.total() < places:
            able = [
                project
                for project, images in waiting.items()
                if images and running[project] < max(1, places - 1)
            ]
            if not able:
                break
            project = min(
                able, key=lambda p: (running[p], self._last.get(p, 0.0))
            )
            self._last[project] = time.monotonic()
            running[project] += 1
            chosen.append(waiting[project].popleft())
        return chosen

    def _is_degraded(self, client: protocols.Client) -> bool:
        """Return whether removals must wait for the cluster.

        :raises TimeoutError: if no monitor responds to this connection. A
            removal that begins would hold its place until they respond, and a
            client whose key was removed meanwhile never finds them again
        """
        command = json.dumps({'prefix': 'health', 'format': 'json'})
        call = releases.off_the_hub(client.cluster).mon_command
        status, output, message = call(command, b'')
        if status:
            if -status == errno.ETIMEDOUT:
                raise TimeoutError('no monitor responds')
            LOG.warning('Could not get the health of Ceph: %s', message)
            return False
        checks = json.loads(output).get('checks', {}).keys()
        is_degraded = not _DEGRADED.isdisjoint(checks) and not any(
            check.startswith(_FULL) for check in checks
        )
        if is_degraded != self._is_paused:
            LOG.info(
                'The purge of the trash %s',
                'waits: the cluster is degraded' if is_degraded else 'goes on',
            )
        return is_degraded

    # A removal

    def _run_purge(self, entry: entries.Entry) -> None:
        try:
            # A pause in librbd's thread halts the whole connection.
            with connections.own_connection():
                self._purge(entry)
        finally:
            del self._running[entry.image_id]
            self.wake()

    def _purge(self, entry: entries.Entry) -> None:
        """Remove an image, or find out what blocks it."""
        try:
            with rbd.RADOSClient(self._driver) as client:
                blocker = self._remove(client, entry)
                if blocker:
                    releases.off_the_hub(ownership.set_metadata)(
                        client.ioctx,
                        entry.image_id,
                        {trash_mark.BLOCKED_KEY: blocker},
                    )
        except Exception:
            blocker = trash_mark.FAILURE
            LOG.exception('Could not remove %s from the trash', entry.name)
        if blocker:
            _, pause = self._blocked.get(entry.image_id, (0.0, INTERVAL / 2))
            pause = min(2 * pause, LONGEST)
            self._blocked[entry.image_id] = time.monotonic() + pause, pause
            LOG.info(
                '%(name)s (%(id)s) stays in the trash: %(blocker)s',
                {'name': entry.name, 'id': entry.image_id, 'blocker': blocker},
            )
            return
        LOG.info('Removed %s from the trash', entry.name)
        # It may have been a clone of one of them.
        self._blocked.clear()

    def _remove(self, client: protocols.Client, entry: entries.Entry) -> str:
        """Remove an image; return what blocks that, or an empty text."""
        driver = self._driver
        if self._is_needed(entry):
            return trash_mark.FAILURE
        examine = releases.off_the_hub(functools.partial(_examine, driver))
        blocker, needs = examine(client.ioctx, entry)
        if blocker:
            return str(blocker)
        mark = entry.mark
        if mark.kind == trash_mark.KEPT and driver.keeps_former_image(
            mark.volume, needs.snapshots
        ):
            return trash_mark.SNAPSHOTS
        for pool, child in needs.children:
            LOG.info('Flattening %s, a clone of an image in the trash', child)
            driver._flatten(pool, child)
        remove = functools.partial(entries.remove, driver)
        try:
            pace = _Pace(driver, self)
            releases.off_the_hub(remove)(
                client.ioctx, entry, not entry.is_expired, pace
            )
        except driver.rbd.ImageBusy:
            return trash_mark.CLIENTS
        except driver.rbd.ImageHasSnapshots:
            return trash_mark.SNAPSHOTS
        sources = relatives.Relatives(driver, client)
        for parent in needs.parents:
            sources.release(parent)
        return ''

    def _is_needed(self, entry: entries.Entry) -> bool:
        """Return whether a volume may still have an image that was replaced.

        Only the cloud that has the volume knows. Two clouds can share a pool.
        """
        if entry.mark.kind in (trash_mark.DELETED, trash_mark.REMAINDER):
            return False
        admin = context.get_admin_context(read_deleted='yes')
        rows = objects.VolumeList.get_all(
            admin, filters={'id': [entry.mark.volume]}
        )
        if not rows:
            return True
        if not any(row.name == entry.name and not row.deleted for row in rows):
            return False
        LOG.error(
            'Image %(name)s in the trash is that of a volume. It is not '
            'removed. To restore it: rbd trash restore %(id)s',
            {'name': entry.name, 'id': entry.image_id},
        )
        return True


class _Pace:
    """Slows a removal down, or halts it, from librbd's own thread."""

    def __init__(self, driver: protocols.Driver, purger: Purger) -> None:
        self._purger = purger
        rate = driver.configuration.safe_get(opts.PURGE_RATE)
        places = driver.configuration.safe_get(opts.PURGES)
        self._rate = rate / places
        self._began = time.monotonic()

    def __call__(self, done: int, total: int) -> int:
        while self._purger._is_paused:
            releases.native_sleep(1.0)
        if self._rate:
            ahead = done / self._rate - (time.monotonic() - self._began)
            if ahead > 0:
                releases.native_sleep(min(ahead, 1.0))
        return 0


def _examine(
    driver: protocols.Driver, ioctx: Any, entry: entries.Entry
) -> tuple[str, relatives.Needs]:
    """Return what blocks the removal of an image, and who needs it."""
    nothing = relatives.Needs((), False, (), False, ())
    if ownership.id_of(ioctx, entry.name) == entry.image_id:
        # Its move is not complete: it has its name.
        return trash_mark.FAILURE, nothing
    try:
        opened = driver.rbd.Image(
            ioctx, image_id=entry.image_id, read_only=True
        )
    except driver.rbd.ImageNotFound:
        # Its removal was interrupted.
        return '', nothing
    with contextlib.closing(opened) as image:
        needs = relatives.needs_of(driver.rbd, image, ioctx.get_pool_name())
        blocker = ''
        if image.group()['pool'] != _NO_POOL:
            blocker = trash_mark.GROUP
        elif image_handles.clients_of(image, driver.rbd):
            blocker = trash_mark.CLIENTS
        elif needs.has_trashed_children:
            # They are removed first.
            blocker = trash_mark.CLONES
        return blocker, needs


def _deleted_volumes(volume_ids: Collection[str]) -> set[str]:
    """Return those volumes that this cloud has deleted."""
    if not volume_ids:
        return set()
    admin = context.get_admin_context(read_deleted='only')
    rows = objects.VolumeList.get_all(
        admin, filters={'id': sorted(volume_ids)}
    )
    return {row.id for row in rows if row.deleted}
