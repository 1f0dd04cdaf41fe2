#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What a volume's row in Cinder's database tells of its RBD image.

What was made stands in the admin metadata, which tenants can't write and
which Cinder's object layer doesn't save in a tenant's context, hence the
database API with a context of its own.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from cinder import context
from cinder import exception
from cinder.db import api as db
from oslo_log import log as logging

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

_ORIGIN_OF_WORD = {origin.name.lower(): origin for origin in errors.Origin}

# The column of admin metadata holds no more.
_MAX_VALUE = 255


def as_metadata(state: plan.ImageState) -> dict[str, str]:
    """Return what was made: sizes as digits, features as sorted names."""
    made = {
        keys.OBJECT_SIZE: str(state.layout.object_size),
        keys.STRIPE_UNIT: str(state.layout.stripe_unit),
        keys.STRIPE_COUNT: str(state.layout.stripe_count),
        keys.FEATURES: features.joined(state.image_features),
    }
    if state.data_pool:
        made[keys.DATA_POOL] = state.data_pool
    return made


def origins(
    admin_metadata: Mapping[str, str],
) -> dict[precedence.Part, errors.Origin] | None:
    """Return where each part of an image was given; None if not recorded.

    What this release does not know counts as requested by the volume's own
    metadata, to which most limits apply.
    """
    text = admin_metadata.get(wire.RECORD_ORIGINS)
    if text is None:
        return None
    words = dict(word.partition('=')[::2] for word in text.split(','))
    return {
        part: _ORIGIN_OF_WORD.get(
            words.get(part.value, ''), errors.Origin.VOLUME_METADATA
        )
        for part in precedence.Part
    }


def _origins_as_text(
    given: Mapping[precedence.Part, errors.Origin],
) -> str:
    return ','.join(
        f'{part.value}={origin.name.lower()}' for part, origin in given.items()
    )


def items_of(volume_id: str) -> dict[str, str]:
    """Return a volume's admin metadata; none for a volume that is gone."""
    admin = context.get_admin_context()
    try:
        return dict(db.volume_admin_metadata_get(admin, volume_id))
    except exception.VolumeNotFound:
        return {}


def backend_of(volume: Any) -> str:
    """Return the back end that holds a volume: ``host@backend``.

    Of a clustered one ``cluster@backend``; empty where there is none yet.

    :param volume: Cinder's volume object
    """
    return (volume.cluster_name or volume.host or '').partition('#')[0]


def recorded_by(admin_metadata: Mapping[str, str]) -> str | None:
    """Return the back end that made a record; None in an old record."""
    return admin_metadata.get(wire.RECORD_RECORDED_BY)


def of_volume(
    volume: Any, admin_metadata: Mapping[str, str]
) -> plan.ImageState | None:
    """Return what was made where the volume is now; None for no record.

    Only the name of the back end's section is compared: ``cinder-manage
    volume update_host`` and a new cluster change what is before the ``@``.

    :param volume: Cinder's volume object
    """
    maker = recorded_by(admin_metadata)
    if maker and _section(maker) != _section(backend_of(volume)):
        return None
    return read(admin_metadata)


def _section(backend: str) -> str:
    return backend.rpartition('@')[2]


def read(admin_metadata: Mapping[str, str]) -> plan.ImageState | None:
    """Return what was made; None where nothing is recorded.

    A volume that the stock driver made has no record, and one that somebody
    has edited counts as none.
    """
    try:
        image_layout = layout.ImageLayout.of(
            int(admin_metadata[keys.OBJECT_SIZE]),
            int(admin_metadata[keys.STRIPE_UNIT]),
            int(admin_metadata[keys.STRIPE_COUNT]),
        )
        names = frozenset(admin_metadata[keys.FEATURES].split(','))
    except (KeyError, ValueError):
        return None
    return plan.ImageState(
        image_layout,
        names & frozenset(features.FEATURES),
        admin_metadata.get(keys.DATA_POOL),
    )


def made(
    volume_id: str,
    state: plan.ImageState,
    backend: str | None = None,
    given: Mapping[precedence.Part, errors.Origin] | None = None,
) -> None:
    """Record what was made for a volume.

    :param backend: where, as :func:`backend_of`; None for where it was
    :param given: where each part was given; None to leave what is recorded
    """
    admin = context.get_admin_context()
    entry = as_metadata(state)
    if backend:
        entry[wire.RECORD_RECORDED_BY] = backend
    if given is not None:
        entry[wire.RECORD_ORIGINS] = _origins_as_text(given)
    db.volume_admin_metadata_update(admin, volume_id, entry, False)
    stale = set(wire.RECORD_REFUSED)
    if not state.data_pool:
        stale.add(keys.DATA_POOL)
    _forget(admin, volume_id, stale)


def _forget(admin: Any, volume_id: str, names: Iterable[str]) -> None:
    """Remove entries of the admin metadata that are there."""
    recorded = db.volume_admin_metadata_get(admin, volume_id)
    for name in sorted(set(names) & set(recorded)):
        db.volume_admin_metadata_delete(admin, volume_id, name)


def moved(
    volume_id: str,
    state: plan.ImageState | None,
    backend: str | None = None,
    given: Mapping[precedence.Part, errors.Origin] | None = None,
) -> None:
    """Record what a volume's image is now that it was moved.

    A failure is logged: the source is gone by then, and Cinder must not take
    the volume to be where it was.

    :param state: None where the image is the same, with a record or without
    :param backend: as of :func:`made`
    :param given: the same
    """
    try:
        if state:
            made(volume_id, state, backend, given)
        else:
            _moved_as_it_is(volume_id, backend)
    except Exception:
        LOG.exception('Could not record what volume %s is now', volume_id)


def _moved_as_it_is(volume_id: str, backend: str | None) -> None:
    admin = context.get_admin_context()
    if backend and read(db.volume_admin_metadata_get(admin, volume_id)):
        db.volume_admin_metadata_update(
            admin, volume_id, {wire.RECORD_RECORDED_BY: backend}, False
        )


def forgotten(volume_id: str) -> None:
    """Remove all that is recorded of a volume that has left.

    A failure is logged: the volume is gone from here by then.
    """
    admin = context.get_admin_context()
    try:
        for key in db.volume_admin_metadata_get(admin, volume_id):
            if key.startswith(keys.PREFIX):
                db.volume_admin_metadata_delete(admin, volume_id, key)
    except Exception:
        LOG.exception('Could not remove the record of volume %s', volume_id)


def refused(volume_id: str, text: str) -> None:
    """Record why a volume could not be made, where its tenant can read it.

    A failure to do so is logged: it must not hide the refusal.
    """
    text = shortened(text, _MAX_VALUE * len(wire.RECORD_REFUSED))
    parts = range(0, len(text), _MAX_VALUE)
    entry = {
        name: text[start : start + _MAX_VALUE]
        for name, start in zip(wire.RECORD_REFUSED, parts, strict=False)
    }
    admin = context.get_admin_context()
    try:
        db.volume_admin_metadata_update(admin, volume_id, entry, False)
        _forget(admin, volume_id, set(wire.RECORD_REFUSED) - set(entry))
    except Exception:
        LOG.exception('Could not record why volume %s failed', volume_id)


def refusal(admin_metadata: Mapping[str, str]) -> str | None:
    """Return why a volume could not be made; None where it could."""
    parts = []
    for name in wire.RECORD_REFUSED:
        part = admin_metadata.get(name)
        if not part:
            break
        parts.append(part)
    return ''.join(parts) or None


def shortened(text: str, length: int = _MAX_VALUE) -> str:
    """Return a text that the database can hold, marked where it was cut.

    :param length: characters; those of one value by default
    """
    return text if len(text) <= length else f'{text[: length - 3]}...'
