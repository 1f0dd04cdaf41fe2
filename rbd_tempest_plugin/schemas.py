# SPDX-License-Identifier: Apache-2.0

"""Our attributes in the schemas with which Tempest checks responses.

Tempest treats an unknown attribute as an error. Its own tests of volumes would
fail with the API extension. This module adds our attributes with their types.
Other unknown attributes are still errors.
"""

from collections.abc import Iterator
from typing import Any

from tempest.lib.services.volume.v3 import volumes_client

from rbd_volume_options import image_record
from rbd_volume_options import published

#: Each attribute of a volume, and the schema of its value.
ATTRIBUTES: dict[str, dict[str, Any]] = {
    **published.attribute_schemas(),
    image_record.ATTRIBUTE_ORIGINS: {
        'type': ['object', 'null'],
        'additionalProperties': {'type': 'string'},
    },
    image_record.ATTRIBUTE_REFUSED: {'type': ['string', 'null']},
    image_record.ATTRIBUTE_ATTACH_REFUSED: {'type': ['object', 'null']},
    image_record.ATTRIBUTE_CACHE_MODES_IN_FORCE: {
        'type': 'object',
        'additionalProperties': {'type': ['string', 'null']},
    },
    image_record.ATTRIBUTE_CONVERSION: {'type': ['object', 'null']},
}


def add_attributes() -> None:
    """Add the attributes to Tempest's schemas; further calls do nothing.

    They may be missing from a response, because a policy can hide them.
    """
    for volume in _volumes():
        volume['properties'].update(ATTRIBUTES)


def _volumes() -> Iterator[dict[str, Any]]:
    """Yield the schema of a volume for each response and microversion."""
    for each in volumes_client.VolumesClient.schema_versions_info:
        module: Any = each['schema']
        shown = module.show_volume['response_body']['properties']
        yield shown['volume']
        listed = module.list_volumes_with_detail['response_body']
        yield listed['properties']['volumes']['items']
