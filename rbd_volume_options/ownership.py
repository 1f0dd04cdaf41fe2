# SPDX-License-Identifier: Apache-2.0

"""The mark that shows which cloud an RBD image belongs to.

The mark is image metadata. librbd copies image metadata to clones and deep
copies, and Ceph can copy whole pools. The mark therefore names the pool and
the image that it was written for; anywhere else it is not valid.

It is written directly to the header object, by librbd's id: no client of the
image is asked for its lock, and the image is not opened.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import errno
import struct
from typing import Any
import uuid

from rbd_volume_options import bindings

#: Name of the image metadata.
KEY = 'rbd_volume_options_owner'
#: Instead of a cloud's id: the cloud has given the image away (unmanaged).
RELEASED = 'released'
#: Ceph's number of the head of an image, which is not a snapshot.
NO_SNAPSHOT = struct.pack('<Q', 2**64 - 2)

#: The option with the id of the cloud, and its help text.
CLOUD_ID = 'rbd_cloud_id'
HELP = (
    'ID of this cloud, a UUID, which is written to the metadata of each new '
    'RBD image. cinder-rbd-ext clean removes leftovers only if it can prove '
    'that they belong to this cloud, such as by this ID. Create it once with '
    'cinder-rbd-ext cloud-id, and set the same ID for Cinder, Glance and Nova '
    'on all hosts. It is not a secret. If unset, images are not marked.'
)


def check_cloud_id(text: str) -> str:
    """Return the id of a cloud.

    :raises ValueError: unless it is a UUID in its usual form, because the IDs
        of all services are compared
    """
    try:
        is_usual = str(uuid.UUID(text)) == text
    except ValueError:
        is_usual = False
    if not is_usual:
        raise ValueError(
            f'{text!r} is not a UUID in lower case with hyphens. Create one '
            'with cinder-rbd-ext cloud-id, and set the same for all services.'
        )
    return text


def mark(owner: str, pool_id: int, image_id: str) -> str:
    """Return the text of a mark.

    :param owner: id of the cloud, or :data:`RELEASED`
    """
    return f'{owner} {pool_id}/{image_id}'


def owner_of(metadata: Mapping[str, str], pool_id: int, image_id: str) -> str:
    """Return the owner in the valid mark of an image; empty without one.

    A mark that was written for another image, such as the parent of a clone,
    is not valid. :data:`RELEASED` is valid anywhere: who has got the image may
    have copied it, and a clone of it may be theirs as well.
    """
    owner, _, place = metadata.get(KEY, '').partition(' ')
    is_valid = place == f'{pool_id}/{image_id}' or owner == RELEASED
    return owner if is_valid else ''


def text_and_version(
    librados: Any, ioctx: Any, image_id: str
) -> tuple[str, int]:
    """Return the text of the mark of an image and the version of its header.

    :param librados: the module ``rados``
    :raises rados.ObjectNotFound: if the image does not exist
    """
    stored = _stored(librados, ioctx, f'rbd_header.{image_id}', (KEY,))
    return stored.get(KEY, ''), ioctx.get_last_version()


def write(
    ioctx: bindings.Ioctx,
    image_id: str,
    owner: str,
    version: int | None = None,
) -> None:
    """Write the mark of an image, in one step.

    :param ioctx: librados' context of the pool of the header
    :param owner: id of the cloud, or :data:`RELEASED`
    :param version: version that the header must have; None for any
    :raises rados.ObjectNotFound: if the image does not exist
    :raises rados.Error: if the header has another version
    """
    text = mark(owner, ioctx.get_pool_id(), image_id)
    set_metadata(ioctx, image_id, {KEY: text}, version)


def set_metadata(
    ioctx: bindings.Ioctx,
    image_id: str,
    metadata: Mapping[str, str],
    version: int | None = None,
) -> None:
    """Write image metadata, in one step and without opening the image.

    :param version: version that the header must have; None for any
    :raises rados.ObjectNotFound: if the image does not exist
    :raises rados.Error: if the header has another version
    """
    # A map, as librbd's own client of the class encodes it.
    data = struct.pack('<I', len(metadata)) + b''.join(
        encoded(name) + encoded(text) for name, text in metadata.items()
    )
    operation = ioctx.create_write_op()
    try:
        if version is not None:
            operation.assert_version(version)
        # Fails if there is no header: a write alone would create it.
        operation.execute('rbd', 'get_size', NO_SNAPSHOT)
        operation.execute('rbd', 'metadata_set', data)
        ioctx.operate_write_op(operation, f'rbd_header.{image_id}')
    finally:
        ioctx.release_write_op(operation)


def metadata_of(
    librados: Any, ioctx: Any, image_id: str | None, names: Iterable[str]
) -> dict[str, str]:
    """Return those entries of image metadata that exist.

    The image is not opened. Empty if it does not exist.

    :param librados: the module ``rados``
    :param image_id: None for the entries that the pool sets for its images
    """
    name = f'rbd_header.{image_id}' if image_id else 'rbd_info'
    try:
        return _stored(librados, ioctx, name, names)
    except librados.ObjectNotFound:
        return {}


def _stored(
    librados: Any, ioctx: Any, name: str, names: Iterable[str]
) -> dict[str, str]:
    wanted = tuple(f'metadata_{name}' for name in names)
    with librados.ReadOpCtx() as operation:
        values, _ = ioctx.get_omap_vals_by_keys(operation, wanted)
        ioctx.operate_read_op(operation, name)
        # The binding returns None for an empty value.
        return {
            key.removeprefix('metadata_'): (value or b'').decode(
                errors='replace'
            )
            for key, value in values
        }


def write_named(ioctx: bindings.Ioctx, name: str, owner: str) -> None:
    """Write the mark of the image with a name."""
    write(ioctx, decoded(ioctx.read(f'rbd_id.{name}')), owner)


def id_of(ioctx: Any, name: str) -> str | None:
    """Return the id of the image with a name; None if there is none."""
    try:
        return decoded(ioctx.read(f'rbd_id.{name}'))
    except Exception as error:
        if getattr(error, 'errno', None) == errno.ENOENT:
            return None
        raise


def encoded(text: str) -> bytes:
    """Return a string as Ceph stores it: its length, then its bytes."""
    content = text.encode()
    return struct.pack('<I', len(content)) + content


def decoded(content: bytes) -> str:
    """Return a string that Ceph has stored.

    :raises ValueError: for other content, which any client of the pool could
        have written
    """
    end = 4 + int.from_bytes(content[:4], 'little')
    if not 4 <= end <= len(content):
        raise ValueError(f'not a string as Ceph stores it: {content[:64]!r}')
    return content[4:end].decode()
