# SPDX-License-Identifier: Apache-2.0

"""The images that are being converted now, by retypes of their volumes.

Unlike the list, they are not cached: one request to Cinder returns the volumes
that are being retyped.
"""

from collections.abc import Iterator
import dataclasses
from typing import Any

from django.utils import dateparse
from openstack_dashboard import api

from rbd_volume_options import wire

#: Status of a volume in a retype.
_RETYPING = 'retyping'
#: Maximum number of listed conversions; Cinder runs only a few at once.
MOST = 100


@dataclasses.dataclass(frozen=True)
class Conversion:
    """A running conversion.

    :ivar ident: ID of the volume
    :ivar name: name of the volume, or its ID
    :ivar former: name of the volume type before the retype
    :ivar target: name of the new volume type; empty if unknown
    :ivar percent: how much of the data is copied
    :ivar at: time of the last progress; None if it is invalid
    """

    ident: str
    name: str
    former: str
    target: str
    percent: int
    at: Any


def read(request: Any) -> list[Conversion]:
    """Return the running conversions of all projects.

    :raises cinderclient.exceptions.ClientException: if Cinder refuses
    """
    client = api.cinder.cinderclient(request)
    volumes = client.volumes.list(
        search_opts={'all_tenants': 1, 'status': _RETYPING}, limit=MOST
    )
    return list(_of(client, volumes)) if volumes else []


def _of(client: Any, volumes: list[Any]) -> Iterator[Conversion]:
    """Yield the volumes whose image is converted.

    The other retypes change image features, or migrate the volume.
    """
    names = {
        each.id: each.name for each in client.volume_types.list(is_public=None)
    }
    for volume in volumes:
        told = getattr(volume, wire.ATTRIBUTE_CONVERSION, None)
        # The attribute crosses a network.
        if not isinstance(told, dict) or not isinstance(
            told.get(wire.CONVERSION_PERCENT), int
        ):
            continue
        new_type = str(told.get(wire.CONVERSION_NEW_TYPE) or '')
        yield Conversion(
            volume.id,
            getattr(volume, 'name', None) or volume.id,
            volume.volume_type or '',
            names.get(new_type, new_type),
            told[wire.CONVERSION_PERCENT],
            _time(told.get(wire.CONVERSION_AT)),
        )


def _time(text: Any) -> Any:
    try:
        return dateparse.parse_datetime(str(text))
    except ValueError:
        return None
