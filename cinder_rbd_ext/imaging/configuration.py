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

from oslo_log import log as logging

from cinder_rbd_ext import protocols
from rbd_volume_options import definitions
from rbd_volume_options import errors

LOG = logging.getLogger(__name__)

_PREFIX = 'conf_'

#: The entry that overrides QEMU's cache mode.
CACHE_OVERRIDE = 'conf_rbd_cache'


def _entries() -> dict[str, definitions.Option]:
    options = definitions.of_kind(definitions.Kind.IMAGE_CONFIGURATION)
    return {f'{_PREFIX}{option.item}': option for option in options}


def of_image(image: protocols.Image) -> dict[str, Any]:
    """Return the values of the options that configure an image, by key."""
    entries = _entries()
    values = {}
    for name, text in image.metadata_list() if entries else ():
        if name in entries:
            with contextlib.suppress(errors.OptionError):
                values[entries[name].key] = entries[name].parse(text)
    return values


def not_inherited(image: protocols.Image) -> set[str]:
    """Return the entries of an image that its clones must not inherit."""
    names = {CACHE_OVERRIDE, *_entries()}
    return names & dict(image.metadata_list()).keys()


def reset(image: protocols.Image) -> None:
    """Remove the entries that a new image inherited."""
    for name in not_inherited(image):
        image.metadata_remove(name)
        if name == CACHE_OVERRIDE:
            LOG.info(
                'Removed the inherited setting %s from image %s',
                name,
                image.get_name(),
            )


def families(keys: Iterable[str]) -> set[str]:
    """Return the families of keys, whose entries are changed together."""
    return {definitions.OPTIONS[key].family for key in keys}


def change(
    image: protocols.Image,
    wanted: Mapping[str, Any],
    former: Iterable[str] = (),
    stock: Mapping[str, str] | None = None,
) -> None:
    """Change the entries of an image to those that its volume requests.

    A client that has the image open applies them within seconds. An entry is
    replaced, and not removed first: a limit that changes is always in force.

    :param wanted: the values of the options of the volume, by key
    :param former: families of options whose entries the driver may have set
    :param stock: the entries of QoS specs, for families that are not wanted
    """
    entries = dict(image.metadata_list())
    own = families(wanted)
    for name, option in _entries().items():
        if option.family not in own.union(former):
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
