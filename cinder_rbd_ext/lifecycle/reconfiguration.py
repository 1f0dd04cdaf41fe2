# SPDX-License-Identifier: Apache-2.0

"""Changes of the configuration of an existing image, also while it is in use.

The configuration of an image follows the keys of its volume, of its volume
type and of the back end, and the size of the volume. It is compared with the
record and changed if it differs: when the API extension has changed a key,
when the volume is attached or detached, extended, retyped or managed. During
an extension or a retype, only that changes it: Cinder has not saved the new
size or type yet.

=============  =============================  ================================
Step           Before it                      After a kill, or a failure
=============  =============================  ================================
mark           The record says what the       Nothing has changed.
               driver set.
change         The mark says that the record  A part of the entries. The next
               may be out of date.            comparison finds the mark, and
                                              sets all of them again.
record         The image has the entries.     As above.
compare again  The record has the entries,    Keys that were changed meanwhile
               the mark is removed.           are in force after the next
                                              comparison.
=============  =============================  ================================

One service of a cluster changes an image at a time
(:func:`~cinder_rbd_ext.locks.configuring`), so that record and image
agree. No data is read or written.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import functools
from typing import Any
from typing import NamedTuple

from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import locks
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import requested_configuration
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.retype import marker
from rbd_volume_options import image_configuration
from rbd_volume_options import image_record
from rbd_volume_options import volume_items

LOG = logging.getLogger(__name__)

# Seconds to wait for an operation that replaces the image. The API waits for
# the answer, and the volume is compared again later.
_WAIT = 2.0

# A key can be changed again while the image is changed.
_ATTEMPTS = 10

_KEPT = frozenset(
    {
        'deleting',
        'creating',
        'downloading',
        'error',
        'reverting',
        marker.RETYPING,
        *requester.RESTORING,
    }
)

_EXTENDING = 'extending'


def not_replaced(volume: protocols.Volume, names: Iterable[str]) -> list[str]:
    """Return the names in QoS specs of limits that no key replaces.

    The stock driver sets the limits of QoS specs also when a volume with data
    is retyped or gets another image. It removes each limit that QoS specs do
    not set, and fails if an entry is missing.
    """
    replaced = volume_items.families_set(record.items_of(volume.id))
    return [
        name
        for name in names
        if name not in rbd.QOS_KEY_MAP
        or image_configuration.family_of(_entry(name)) not in replaced
    ]


def qos_entries(qos_specs: Mapping[str, str]) -> dict[str, str]:
    """Return the values in QoS specs by the name of Ceph's option."""
    return {
        rbd.QOS_KEY_MAP[name]['ceph_key']: value
        for name, value in qos_specs.items()
        if name in rbd.QOS_KEY_MAP
    }


def _entry(name: str) -> str:
    """Return the entry of an image for a limit in QoS specs."""
    return f'conf_{rbd.QOS_KEY_MAP[name]["ceph_key"]}'


class _Change(NamedTuple):
    """A volume as it will be, and the new configuration of its image."""

    target: requested_configuration.Target
    wanted: dict[str, Any]


class Reconfigurations:
    """Changes the configuration of images."""

    def __init__(self, driver: protocols.Driver) -> None:
        self._driver = driver

    def follow(
        self,
        volume: protocols.Volume,
        new_type: protocols.VolumeType | None = None,
        new_size: int = 0,
        is_current: bool = False,
        is_restored: bool = False,
    ) -> None:
        """Configure an image as its volume requests, if it differs.

        A failure is logged: the operation of which this is a part has already
        succeeded, and the next one tries again.

        :param volume: Cinder's manager passes a row of the database to
            ``remove_export``, which is no object with a context
        :param new_size: the size in GiB that the volume is about to get
        :param is_current: whether the volume is as in the database, with its
            admin metadata
        :param is_restored: whether a restore has just written the data, of a
            volume that Cinder still has in that status
        """
        # The holder of the lock compares again before it returns. Tenants can
        # send any number of requests, which must not wait in threads for it.
        wait = _WAIT if new_type or new_size else 0
        find = functools.partial(
            self._change_of, volume.id, new_type, new_size, is_restored
        )
        try:
            change = find(volume if is_current else None)
            for _ in range(_ATTEMPTS):
                if change is None:
                    return
                with (
                    locks.shared(
                        self._driver, change.target.volume, _WAIT
                    ) as current,
                    # Two requests may change it at the same time.
                    locks.configuring(self._driver, current, wait),
                ):
                    change = find()
                    if change is not None:
                        self._apply(change)
                change = find()
        except locks.VolumeLocked as error:
            LOG.info('The configuration of an image is kept: %s', error)
        except Exception:
            LOG.exception(
                'Could not change the configuration of the image of volume '
                '%s; trying again when it is attached, detached or changed',
                volume.id,
            )

    def release(
        self, volume: protocols.Volume, pool: str | None = None
    ) -> None:
        """Remove the configuration from the image of a volume that leaves.

        Nobody else would: its keys are lost when it is unmanaged, or migrated
        to a back end of the stock driver. A failure is logged: the image can
        be given away with the entries. The mark makes the next comparison set
        them again if the volume stays.

        :param pool: of the image; None for that of the back end
        """
        try:
            with (
                locks.shared(self._driver, volume, _WAIT) as current,
                locks.configuring(self._driver, current, _WAIT),
            ):
                families = volume_items.families_set(
                    record.items_of(volume.id)
                )
                if families:
                    record.configuring(volume.id, families)
                    stock = self._stock_entries(volume.volume_type)
                    images = self._driver.images
                    with images.opened(volume.name, pool=pool) as image:
                        image_configuration.change(image, {}, families, stock)
        except Exception:
            LOG.exception(
                'Could not remove the limits and hints from the image of '
                'volume %s',
                volume.id,
            )

    def _change_of(
        self,
        volume_id: str,
        new_type: protocols.VolumeType | None,
        new_size: int,
        is_restored: bool,
        current: protocols.Volume | None = None,
    ) -> _Change | None:
        """Return what is to be changed; None for nothing.

        :param current: the volume as in the database; None to read it
        """
        volume = current
        if volume is None:
            volume = record.stored_volume(volume_id)
        is_kept = volume.status in _KEPT and new_type is None
        if is_kept and not (
            is_restored and volume.status in requester.RESTORING
        ):
            return None
        if volume.status == _EXTENDING and not new_size:
            # The driver has set the limits of a size that is not saved yet.
            return None
        target = requested_configuration.Target(volume, new_type, new_size)
        wanted = target.difference(self._driver.settings)
        return None if wanted is None else _Change(target, wanted)

    def _apply(self, change: _Change) -> None:
        target, wanted = change
        volume = target.volume
        if target.new_type is None:
            volume_use.check_not_migrated(self._driver, volume)
        recorded = volume_items.families_set(image_record.items(volume))
        record.configuring(
            volume.id, recorded | image_configuration.families(wanted)
        )
        with self._driver.images.opened(volume.name) as image:
            image_configuration.change(
                *(image, wanted, recorded),
                self._stock_entries(target.volume_type),
            )
        record.write(volume.id, *volume_items.configured(wanted))
        LOG.info(
            'The image of volume %(id)s is configured with %(wanted)s',
            {'id': volume.id, 'wanted': wanted or 'no options'},
        )

    def _stock_entries(
        self, volume_type: protocols.VolumeType | None
    ) -> dict[str, str]:
        specs = self._driver._qos_specs_from_volume_type(volume_type) or {}
        return {
            _entry(name): str(value)
            for name, value in specs.items()
            if name in rbd.QOS_KEY_MAP
        }
