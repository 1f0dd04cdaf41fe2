# SPDX-License-Identifier: Apache-2.0

"""RBD images that an administrator brings under Cinder's management."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.volume import volume_utils
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from cinder_rbd_ext import volume_use
from cinder_rbd_ext.retype import marker
from rbd_volume_options import changes
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import plan
from rbd_volume_options import request

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def taking_over(
    driver: protocols.Driver, volume: protocols.Volume, name: str
) -> Iterator[None]:
    """Check and record an image; restore its name on failure.

    Keys that tenants may not set are allowed, because only administrators
    manage images.

    :raises ManageExistingAlreadyManaged: if it belongs to a migrated volume
    :raises ManageExistingVolumeTypeMismatch: if the image does not match
    """
    state = _check(driver, volume, name)
    specs = request.specs_of(volume.volume_type)
    metadata = request.metadata_of(volume)
    with contextlib.ExitStack() as undo:
        undo.callback(_undo_rename, driver, volume.name, name)
        yield
        if request.changes_features(specs):
            # The stock driver has changed it for the type.
            state = driver.images.state_of(volume.name)
        record.replace(
            volume,
            image_record.Record(
                state.with_origins(
                    changes.origins_of_managed(metadata, specs)
                ),
                image_record.backend_of(volume),
            ),
            accepted=metadata,
            disk=changes.disk_of_managed(metadata),
        )
        undo.pop_all()
    driver.images.mark(volume.name, always=True)


def check_snapshot(reference: Any) -> None:
    """Refuse a snapshot that a record has: a deletion would end both."""
    is_name = isinstance(reference, str)
    name = reference if is_name else reference['source-name']
    ident = volume_utils.extract_id_from_snapshot_name(name)
    if ident and objects.Snapshot.exists(context.get_admin_context(), ident):
        raise exception.ManageExistingInvalidReference(
            existing_ref=reference,
            reason=f'Cinder has snapshot {ident}; unmanage it first',
        )


def _check(
    driver: protocols.Driver, volume: protocols.Volume, name: str
) -> options.Values:
    name_id = volume_utils.extract_id_from_volume_name(name)
    if name_id and (
        volume_use.renamed(name_id) or name_id in _unfinished(driver)
    ):
        # Cinder's API looks for a volume with this id only.
        raise exception.ManageExistingAlreadyManaged(volume_ref=name)
    try:
        requested = request.read_request(
            request.metadata_of(volume),
            request.specs_of(volume.volume_type),
            driver.settings,
            is_checked=True,
        )
        plan.check_managed(requested.resolve())
        state: options.Values = driver.images.state_of(name)
        contradiction = changes.contradiction(
            requested.resolve(backend_too=False), state
        )
        if contradiction:
            raise contradiction
    except errors.OptionError as error:
        user_messages.refused(volume, user_messages.Operation.CREATION, error)
        raise exception.ManageExistingVolumeTypeMismatch(
            reason=str(error)
        ) from error
    return state


def _unfinished(driver: protocols.Driver) -> dict[str, str]:
    """Return the volumes that the images of unfinished requests belong to.

    :returns: the ids of volumes, by the uuids in the names of both images
    """
    owners: dict[str, str] = {}
    for volume_id in marker.marked_volumes(driver):
        mark = marker.of_volume(volume_id)
        if mark is not None:
            owners |= {mark.image: volume_id, mark.former: volume_id}
    return owners


def manageable(
    driver: protocols.Driver,
    volumes: Iterable[Any],
    listed: Callable[[list[dict[str, str]]], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return the images that can be managed, by the images that rows name.

    The stock driver compares the uuid in the name of an image with the ids of
    volumes only.

    :param volumes: those of the back end
    :param listed: the stock method
    """
    owners = _unfinished(driver)
    for volume in volumes:
        ident = volume['id']
        owners |= {ident: ident, volume.get('name_id') or ident: ident}
    entries = listed([{'id': name_id} for name_id in owners])
    for entry in entries:
        entry['cinder_id'] = owners.get(entry['cinder_id'])
    return entries


def _undo_rename(driver: protocols.Driver, name: str, original: str) -> None:
    try:
        with rbd.RADOSClient(driver) as client:
            driver.RBDProxy().rename(client.ioctx, name, original)
    except driver.rbd.ImageNotFound:
        LOG.debug('Image %s had not been renamed to %s', original, name)
    except Exception:
        # This error is not raised, because it would hide the first one.
        LOG.exception('Could not rename image %s to %s', name, original)
