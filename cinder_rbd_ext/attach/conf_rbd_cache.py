# SPDX-License-Identifier: Apache-2.0

"""``conf_rbd_cache``: an image setting that overrides the cache mode."""

import contextlib
from typing import Any

from cinder_rbd_ext import protocols
from cinder_rbd_ext.attach import cache_mode
from rbd_volume_options import cache_modes

# librbd's source of a value that neither the image nor its pool sets.
_BY_CLIENT = 0
#: Image metadata that overrides QEMU's cache mode and that clones inherit.
CACHE_OVERRIDE = 'conf_rbd_cache'


def of_image(image: protocols.Image) -> bool | None:
    """Return ``rbd_cache`` as set on an image or its pool; None if unset.

    This setting overrides the one that QEMU derives from its cache mode,
    because librbd reads it when the image is opened
    (``librbd::ImageCtx::apply_metadata``).
    """
    for option in image.config_list():
        if option['name'] == 'rbd_cache' and option['source'] != _BY_CLIENT:
            return cache_modes.librbd_caches(option['value'])
    return None


def stored(rados: Any, ioctx: protocols.Ioctx, name: str) -> bool | None:
    """Return the same, read from RADOS without opening the image.

    Opening an image takes ten times as long. The objects and keys are those of
    cls_rbd, which have not changed since image format 2.

    :raises rados.Error: if the objects of the image cannot be read
    """

    def value_of(stored_in: str) -> bytes | None:
        key = f'metadata_{CACHE_OVERRIDE}'
        with rados.ReadOpCtx() as operation:
            values, _ = ioctx.get_omap_vals_by_keys(operation, (key,))
            ioctx.operate_read_op(operation, stored_in)
            return dict(values).get(key)

    # The length of the ID comes first, in four bytes.
    ident = ioctx.read(f'rbd_id.{name}')[4:].decode()
    value = value_of(f'rbd_header.{ident}')
    if value is None:
        with contextlib.suppress(rados.ObjectNotFound):
            value = value_of('rbd_info')
    return None if value is None else cache_modes.librbd_caches(value.decode())


def check(asked: cache_mode.Asked, cached: bool | None) -> None:
    """Check that no setting of the image overrides the mode.

    :raises OptionError: if a setting overrides the mode
    """
    if cached is None or cached is asked.mode.uses_rbd_cache:
        return
    agreeing = [m for m in cache_modes.CacheMode if m.uses_rbd_cache is cached]
    raise asked.refusal(
        f'conf_rbd_cache = {str(cached).lower()}, set on the RBD image or its '
        f'pool, overrides it',
        f'{cache_modes.joined(agreeing)}, or remove the setting',
    )
