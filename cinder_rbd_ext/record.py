# SPDX-License-Identifier: Apache-2.0

"""The record of a volume's RBD image in Cinder's database.

What was created is in the row of the volume (``provider_id``), and what exists
only for a time in its admin metadata; see
:mod:`rbd_volume_options.image_record`. Tenants can write neither of them, and
Cinder's object layer does not save admin metadata in the context of a tenant.
This module therefore uses the database API with an admin context.

The column is written by a conditional update, so that no update is lost. It is
never a changed field of an object of Cinder's: a ``save`` of its manager would
write an old record.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from cinder import context
from cinder import exception
from cinder import objects
from cinder.db import api as db
from oslo_db import api as oslo_db_api
from oslo_log import log as logging
from oslo_utils import timeutils
import sqlalchemy

from cinder_rbd_ext import protocols
from cinder_rbd_ext import reasons
from cinder_rbd_ext import releases
from rbd_volume_options import accepted_keys
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import image_record
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_options import volume_items

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Row:
    """The row of a volume, with its admin metadata.

    That of a volume that does not exist has its id only.
    """

    id: str
    name_id: str
    provider_id: str | None = None
    host: str | None = None
    cluster_name: str | None = None
    status: str | None = None
    migration_status: str | None = None
    size: int = 0
    volume_type_id: str | None = None
    project_id: str = ''
    provider_location: str | None = None
    replication_driver_data: str | None = None
    replication_extended_status: str | None = None
    admin_metadata: Mapping[str, str] = dataclasses.field(
        default_factory=dict, hash=False
    )


# Without the admin metadata.
_COLUMNS = [field.name for field in dataclasses.fields(Row)][:-1]


def _models() -> tuple[Any, Any]:
    """Return the classes of the rows of volumes and of their items."""
    volume = objects.Volume.model
    return volume, volume.volume_admin_metadata.property.mapper.class_


def stored(volume_id: str) -> Row:
    """Return the row of a volume in the database, in one query."""
    for row in stored_rows([volume_id]):
        return row
    return Row(volume_id, volume_id)


def stored_rows(volume_ids: Collection[str]) -> list[Row]:
    """Return the rows of volumes in the database, in one query.

    It does not read the metadata of volumes: Cinder's query for an
    administrator repeats each item of it for each item of the admin metadata.
    """
    admin = context.get_admin_context()
    volume, item = _models()
    others = [getattr(volume, name) for name in _COLUMNS[2:]]
    with releases.database().main_context_manager.reader.using(admin):
        selected = (
            admin.session.query(
                item.key, item.value, volume.id, volume._name_id, *others
            )
            .select_from(volume)
            .outerjoin(item, (item.volume_id == volume.id) & ~item.deleted)
            .filter(volume.id.in_(volume_ids), ~volume.deleted)
            .all()
        )
    rows: dict[str, dict[str, Any]] = {}
    for key, value, ident, name_id, *values in selected:
        row = rows.setdefault(ident, {'admin_metadata': {}})
        row |= zip(_COLUMNS, (ident, name_id or ident, *values), strict=True)
        if key:
            row['admin_metadata'][key] = value
    return [Row(**row) for row in rows.values()]


def items_of(volume_id: str) -> dict[str, str]:
    """Return the items of a volume; none for a deleted volume."""
    return image_record.items(stored(volume_id))


def stored_volume(volume_id: str) -> Any:
    """Return a volume as in the database, with its admin metadata.

    One query reads both; what else is needed of it is read when it is. Neither
    joins the metadata of the volume, which tenants fill, with other lists, as
    Cinder's query for an administrator does. Objects of SQLAlchemy would take
    several times as long.

    :raises VolumeNotFound: if it was deleted
    """
    admin = context.get_admin_context()
    kind = objects.Volume
    with releases.database().main_context_manager.reader.using(admin):
        rows = (
            admin.session.execute(_row_and_items(), {'volume_id': volume_id})
            .mappings()
            .all()
        )
    if not rows:
        raise exception.VolumeNotFound(volume_id=volume_id)
    items = [
        {'key': row['item_key'], 'value': row['item_value']}
        for row in rows
        if row['item_key']
    ]
    row = {**rows[0], 'volume_admin_metadata': items}
    return kind._from_db_object(admin, kind(admin), row, ['admin_metadata'])


def _tables() -> tuple[Any, Any]:
    """Return the tables of volumes and of their admin metadata."""
    model = objects.Volume.model
    items = model.volume_admin_metadata.property.mapper.local_table
    return model.__table__, items


def _with_items(*columns: Any) -> Any:
    """Return a query of columns of a volume, with its admin metadata."""
    volume, item = _tables()
    return (
        sqlalchemy.select(
            *columns,
            item.c.id.label('item_id'),
            item.c.key.label('item_key'),
            item.c.value.label('item_value'),
        )
        .select_from(volume)
        .outerjoin(item, (item.c.volume_id == volume.c.id) & ~item.c.deleted)
        .where(
            volume.c.id == sqlalchemy.bindparam('volume_id'),
            ~volume.c.deleted,
        )
    )


@functools.cache
def _row_and_items() -> Any:
    return _with_items(_tables()[0])


@functools.cache
def _column_and_items() -> Any:
    return _with_items(_tables()[0].c.replication_extended_status)


def items_of_deleted(key: str, value: str) -> dict[str, dict[str, str]]:
    """Return the rows of items of the deleted volumes that had a certain one.

    Cinder keeps deleted rows until an operator purges its database.
    """
    admin = context.get_admin_context()
    volume, item = _models()
    deleted: dict[str, dict[str, str]] = {}
    with releases.database().main_context_manager.reader.using(admin):
        having = (
            admin.session.query(item.volume_id)
            .join(volume, item.volume_id == volume.id)
            .filter(volume.deleted, item.deleted)
            .filter(item.key == key, item.value == value)
        )
        rows = admin.session.query(item.volume_id, item.key, item.value)
        for ident, name, text in rows.filter(item.volume_id.in_(having)):
            deleted.setdefault(ident, {})[name] = text
    return deleted


def clear_of_deleted(volume_id: str, key: str) -> None:
    """Empty an item of a deleted volume."""
    admin = context.get_admin_context()
    _, item = _models()
    with releases.database().main_context_manager.writer.using(admin):
        admin.session.query(item).filter(
            item.volume_id == volume_id, item.key == key, item.deleted
        ).update({'value': ''})


def replace(
    volume: protocols.Volume,
    new: image_record.Record,
    accepted: Mapping[str, str] | None = None,
    configuration: Mapping[str, Any] | None = None,
    disk: Mapping[str, Any] | None = None,
) -> None:
    """Record the image of a volume instead of what is recorded now.

    :param accepted: as for :func:`volume_items.created`, like the next
    :raises VolumeBackendAPIException: if the volume was deleted or has got
        another image
    :raises OptionError: if the record does not fit
    """
    text = new.text(volume.name_id)
    own_name = volume.name_id == volume.id
    entries, stale = volume_items.created(accepted, configuration, disk)

    def changed(items: Mapping[str, str]) -> dict[str, str]:
        items = reasons.removed(items, [reasons.CREATION])
        kept = {k: v for k, v in items.items() if k not in stale}
        return {**kept, **entries}

    change(
        volume.id,
        changed,
        {'provider_id': text},
        {'_name_id': None if own_name else volume.name_id},
    )
    volume.provider_id = text
    # The object must not save it later.
    volume.obj_reset_changes(['provider_id'])


def text_for(
    volume: image_record.Volume,
    state: options.Values,
    image: str,
    origins: Mapping[str, errors.Origin] | None = None,
    backend: str | None = None,
) -> str:
    """Return the record of an image that is to replace that of a volume.

    :param volume: as in the database
    :param image: the id in the name of the new image
    :param origins: None for the recorded ones
    :param backend: None for that of the volume
    :raises OptionError: if the record does not fit
    """
    if origins is None:
        origins = image_record.origins(volume)
    if backend is None:
        backend = image_record.backend_of(volume)
    return image_record.Record(state.with_origins(origins), backend).text(
        image
    )


def _write(row: Row, text: str | None) -> bool:
    """Write the column of a row; return whether it was still as read."""
    expected = {'id': row.id, 'provider_id': row.provider_id}
    admin, volume = context.get_admin_context(), objects.Volume.model
    return bool(
        db.conditional_update(admin, volume, {'provider_id': text}, expected)
    )


def configuring(volume_id: str, families: Iterable[str]) -> None:
    """Record that the configuration of an image is about to change.

    :param families: of the options whose entries may change
    """
    write(
        volume_id,
        {volume_items.RECORD_CONFIGURING: ','.join(sorted(families))},
    )


def limited(volume_id: str, entries: Mapping[str, Any]) -> None:
    """Record what QoS specs set on an image; a failure is logged."""
    try:
        write(volume_id, *volume_items.limited(entries))
    except Exception:
        LOG.exception('Could not record the limits of volume %s', volume_id)


def accepted(
    volume_id: str, metadata: Mapping[str, str], removed: Iterable[str] = ()
) -> None:
    """Record that changes of a volume's metadata were accepted.

    A failure is logged: the change is already made, and the value is then
    checked where it takes effect.
    """
    update = volume_items.accepted(metadata, removed)
    if not any(update):
        return
    try:
        write(volume_id, *update)
    except Exception:
        LOG.exception('Could not record accepted keys of volume %s', volume_id)


def is_accepted(volume: protocols.Volume, key: str, value: str) -> bool:
    """Return whether the value of a changeable key was accepted."""
    is_read = volume.obj_attr_is_set('admin_metadata')
    items = image_record.items(volume) if is_read else items_of(volume.id)
    return volume_items.values_accepted(items).get(key) == value


def write(
    volume_id: str, entries: Mapping[str, str], stale: Iterable[str] = ()
) -> None:
    """Write items of the admin metadata, and remove others if they exist.

    :raises VolumeNotFound: if the volume was deleted
    """
    names = set(stale)
    change(
        volume_id,
        lambda items: {
            **{k: v for k, v in items.items() if k not in names},
            **entries,
        },
    )


@oslo_db_api.wrap_db_retry(max_retries=5, retry_on_deadlock=True)
def change(
    volume_id: str,
    new_items: Callable[[dict[str, str]], Mapping[str, str]],
    columns: Mapping[str, Any] | None = None,
    expected: Mapping[str, Any] | None = None,
) -> None:
    """Change the items of the admin metadata of a volume, in one step.

    The API and the driver write items that share a row, so the row of the
    volume is locked meanwhile. Not the items: databases would also lock the
    gaps between them, in which the items of other new volumes are.

    :param columns: new values of columns of the volume
    :param expected: what it must have then
    :raises VolumeNotFound: if the volume was deleted
    :raises VolumeBackendAPIException: if it is not as expected
    """
    admin = context.get_admin_context()
    volume, item = _tables()
    own = (volume.c.id == volume_id) & ~volume.c.deleted
    with releases.database().main_context_manager.writer.using(admin):
        execute = admin.session.execute
        if columns:
            conditions = [
                volume.c[k] == v for k, v in (expected or {}).items()
            ]
            update = sqlalchemy.update(volume).where(own, *conditions)
            if not execute(update.values(columns)).rowcount:
                raise exception.VolumeBackendAPIException(
                    data=f'Volume {volume_id} no longer has the same image'
                )
        elif not execute(
            sqlalchemy.select(volume.c.id).where(own).with_for_update()
        ).first():
            raise exception.VolumeNotFound(volume_id=volume_id)
        rows = execute(_column_and_items(), {'volume_id': volume_id}).all()
        column, rows = rows[0][0], [row for row in rows if row.item_key]
        items = {row.item_key: row.item_value for row in rows}
        text, new = image_record.packed(
            new_items(image_record.unpacked(items, column)), column
        )
        if text != column:
            values = {'replication_extended_status': text}
            execute(sqlalchemy.update(volume).where(own).values(values))
        for row in rows:
            changed: dict[str, Any] = {'value': new.get(row.item_key)}
            if row.item_key not in new:
                changed = {'deleted': True, 'deleted_at': timeutils.utcnow()}
            elif new[row.item_key] == row.item_value:
                continue
            # By its id, for the same reason.
            execute(
                sqlalchemy.update(item)
                .where(item.c.id == row.item_id)
                .values(changed)
            )
        for key in new.keys() - items.keys():
            added = {'volume_id': volume_id, 'key': key, 'value': new[key]}
            execute(sqlalchemy.insert(item).values(added))


def forget_reason(volume_id: str, *operations: str) -> None:
    """Remove the reason of the last refusal, if it is of an operation.

    A failure is logged.
    """
    try:
        change(
            volume_id,
            lambda items: reasons.removed(items, operations),
        )
    except Exception:
        LOG.exception('Could not remove a reason of volume %s', volume_id)


def moved(volume_id: str, backend: str) -> None:
    """Record that an unchanged image belongs to another back end.

    A failure is logged and not raised: the image has already moved.
    """
    try:
        while recorded := image_record.read(row := stored(volume_id)):
            new = dataclasses.replace(recorded, backend=backend)
            if _write(row, new.text(row.name_id)):
                return
    except Exception:
        LOG.exception('Could not update the record of volume %s', volume_id)


def remove_keys(
    volume: protocols.Volume,
    acceptance: accepted_keys.Acceptance | None,
    backend_name: str,
) -> None:
    """Remove the keys that are not accepted from a volume, and log them.

    A model update would replace all metadata, which the owner may have
    changed since. The volume object stays consistent with the database, so
    that Cinder does not save it again. A failure is logged: the image has
    already changed, and Cinder must save that.
    """
    if not acceptance or not acceptance.dropped:
        return
    try:
        for name in sorted(acceptance.dropped):
            if name in volume.metadata:
                volume.delete_metadata_key(name)
            else:
                # The owner has set it since the volume was read.
                db.volume_metadata_delete(volume._context, volume.id, name)
    except Exception:
        LOG.exception('Could not remove the keys of volume %s', volume.id)
        return
    LOG.info(
        'Volume %(id)s: removed keys that its volume type does not '
        'accept on back end %(backend)s: %(keys)s',
        {
            'id': volume.id,
            'backend': backend_name,
            'keys': acceptance.reasons,
        },
    )


def forget(volume_id: str) -> None:
    """Remove the record of a volume that has left this driver.

    Kept are the marker of the migration, as the former image is still there,
    the properties of the disk, as the volume may return, and what another
    driver has written. A failure is logged: the volume has already left.
    """
    kept = {
        *image_record.MARKER_RECORDS,
        *registry.keys_of_kind(definitions.Kind.DISK),
    }
    try:
        row = stored(volume_id)
        items = image_record.items(row)
        write(volume_id, {}, options.ours(items).keys() - kept)
        if image_record.is_record(row.provider_id):
            _write(row, None)
    except Exception:
        LOG.exception('Could not remove the record of volume %s', volume_id)
