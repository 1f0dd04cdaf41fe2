# SPDX-License-Identifier: Apache-2.0

"""Configuration in the metadata of an RBD image: its ``conf_`` entries.

librbd copies all metadata of an image to its clones and copies, with the
configuration that somebody else requested. A new image therefore loses
inherited entries and gets those of its own volume. They replace any other.
Without them, entries of Cinder's QoS specs or of an operator are left alone.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
from typing import Any

from rbd_volume_options import bindings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import ownership
from rbd_volume_options import registry
from rbd_volume_options.families import cache_modes

_PREFIX = 'conf_'

# librbd's source of a value that neither the image nor its pool sets.
_BY_CLIENT = 0

#: The entry that overrides QEMU's cache mode.
CACHE_OVERRIDE = 'conf_rbd_cache'


def _entries() -> dict[str, definitions.Option]:
    kind = definitions.Kind.IMAGE_CONFIGURATION
    return {
        f'{_PREFIX}{option.item}': option for option in registry.of_kind(kind)
    }


def read_configuration(image: bindings.Image) -> dict[str, Any]:
    """Return the values of the options that configure an image, by key."""
    entries = _entries()
    values = {}
    for name, text in image.metadata_list() if entries else ():
        if name in entries:
            with contextlib.suppress(errors.OptionError):
                values[entries[name].key] = entries[name].parse(text)
    return values


def not_inherited(image: bindings.Image) -> set[str]:
    """Return the entries of an image that its clones must not inherit.

    Also that it was given away, which would keep them from being purged.
    """
    stored = dict(image.metadata_list())
    names = {CACHE_OVERRIDE, *_entries()}
    if stored.get(ownership.KEY, '').startswith(ownership.RELEASED):
        names.add(ownership.KEY)
    return names & stored.keys()


def family_of(entry: str) -> str:
    """Return the family of the option that an entry sets."""
    return _entries()[entry].family


def families(names: Iterable[str]) -> set[str]:
    """Return the families of keys, whose entries are changed together."""
    return {registry.OPTIONS[key].family for key in names}


def change(
    image: bindings.Image,
    wanted: Mapping[str, Any],
    families_set: Iterable[str] = (),
    stock: Mapping[str, str] | None = None,
) -> None:
    """Change the entries of an image to those that its volume requests.

    A client that has the image open applies them within seconds. An entry is
    replaced, and not removed first: a limit that changes is always in force.

    :param wanted: the values of the options of the volume, by key
    :param families_set: those whose entries the driver may have set
    :param stock: the entries of QoS specs, for families that are not wanted
    """
    entries = dict(image.metadata_list())
    own = families(wanted)
    for name, option in _entries().items():
        if option.family not in own.union(families_set):
            continue
        text = None
        if option.key in wanted:
            text = definitions.as_text(wanted[option.key])
        elif option.family not in own and stock:
            text = stock.get(name)
        if text is None and name in entries:
            image.metadata_remove(name)
        elif text is not None and entries.get(name) != text:
            image.metadata_set(name, text)


def reset(image: bindings.Image) -> set[str]:
    """Remove the entries that a new image inherited, and return them."""
    names = not_inherited(image)
    for name in names:
        image.metadata_remove(name)
    return names


def cache_of_image(image: bindings.Image) -> bool | None:
    """Return ``rbd_cache`` as set on an image or its pool; None if unset.

    It overrides QEMU's (``librbd::ImageCtx::apply_metadata``).
    """
    for option in image.config_list():
        if option['name'] == 'rbd_cache' and option['source'] != _BY_CLIENT:
            return cache_modes.librbd_caches(option['value'])
    return None


def stored_cache(rados: Any, ioctx: bindings.Ioctx, name: str) -> bool | None:
    """Return the same, read from RADOS without opening the image.

    Opening an image takes ten times as long. The objects and keys are those of
    cls_rbd, which have not changed since image format 2.
    """
    # The length of the ID comes first, in four bytes.
    ident = ioctx.read(f'rbd_id.{name}')[4:].decode(errors='replace')
    for stored_in in (ident, None):
        stored = ownership.metadata_of(
            rados, ioctx, stored_in, [CACHE_OVERRIDE]
        )
        if CACHE_OVERRIDE in stored:
            return cache_modes.librbd_caches(stored[CACHE_OVERRIDE])
    return None
