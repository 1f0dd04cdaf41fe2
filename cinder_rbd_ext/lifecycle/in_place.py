# SPDX-License-Identifier: Apache-2.0

"""Changes of a volume's image in place: extend, multi-attach."""

from collections.abc import Iterator
import contextlib
import json

from cinder_rbd_ext import option_errors
from cinder_rbd_ext import protocols
from cinder_rbd_ext import user_messages
from rbd_volume_options import bindings
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_handles
from rbd_volume_options import image_record
from rbd_volume_options import plan


@contextlib.contextmanager
def extending(
    driver: protocols.Driver, volume: protocols.Volume
) -> Iterator[None]:
    """Check the layout and the object map before a volume is extended.

    The check is on the image that the stock driver opens, which replaces each
    exception by its own.
    """
    # The API ignores an invalid record too, and must decide the same.
    origins = image_record.origins(volume) or {}
    refused: list[errors.OptionError] = []

    def check(image: bindings.Image, size: int) -> None:
        try:
            plan.check_growth(
                image_handles.state_of(image),
                origins,
                size,
                driver.settings.limits,
            )
        except errors.OptionError as error:
            refused.append(error)
            raise

    with option_errors.of_volume(
        volume,
        driver.backend_name,
        user_messages.Operation.EXTENSION,
        told_by_cinder=True,
    ):
        driver.librbd.size_checks[volume.name] = check
        try:
            yield
        except Exception as error:
            if refused:
                raise refused[0] from error
            raise
        finally:
            del driver.librbd.size_checks[volume.name]


def give_back_features(
    driver: protocols.Driver, volume: protocols.Volume
) -> None:
    """Restore the features that multi-attach disabled, with valid maps.

    The stock driver enables the object map and leaves it invalid. An invalid
    map is worse than none, because a deletion still looks for each object.
    """
    saved = json.loads(volume.provider_location or '{}')
    wanted = features.from_mask(saved.get('saved_features', 0))
    with driver.images.opened(volume.name) as image:
        image_handles.set_features(
            image, wanted & features.SINGLE_CLIENT, True
        )
        image_handles.rebuild_object_maps(
            image,
            lambda name: driver.images.opened(volume.name, snapshot=name),
        )
