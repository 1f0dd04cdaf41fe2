# SPDX-License-Identifier: Apache-2.0

"""``rbd import``, which creates images from a file.

The stock driver also creates images with this command, run by its executor,
for converted Glance images and encrypted volumes.
"""

from collections.abc import Sequence
from typing import Any

from cinder_rbd_ext.imaging import creations
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import plan

_ORDER = '--order'


def creation_of(
    command: Sequence[Any], creations: creations.Creations
) -> creations.Creation | None:
    """Return the creation to which an import belongs; None for others."""
    if tuple(command[:2]) != ('rbd', 'import'):
        return None
    for word in command[2:]:
        creation = creations.get(word)
        if creation is not None:
            return creation
    return None


def object_size_of(command: Sequence[Any]) -> int:
    """Return the object size in a command, in bytes."""
    words = list(command)
    if _ORDER in words:
        return 1 << int(words[words.index(_ORDER) + 1])
    return layout.DEFAULT_OBJECT_SIZE


def rewrite(command: Sequence[Any], how: plan.ImagePlan) -> tuple[Any, ...]:
    """Return the command that creates the image as planned."""
    words = list(command)
    more: list[str] = []
    if how.layout:
        if _ORDER in words:
            at = words.index(_ORDER)
            del words[at : at + 2]
        more += [
            '--object-size',
            str(how.layout.object_size),
            '--stripe-unit',
            str(how.layout.stripe_unit),
            '--stripe-count',
            str(how.layout.stripe_count),
        ]
    if how.image_features is not None:
        for name in sorted(how.image_features & features.CHOOSABLE):
            more += ['--image-feature', name]
    if how.data_pool:
        more += ['--data-pool', how.data_pool]
    return (*words, *more)
