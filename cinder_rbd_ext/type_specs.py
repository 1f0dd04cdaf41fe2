# SPDX-License-Identifier: Apache-2.0

"""The extra specs of a volume type, with what its QoS specs add to them."""

from collections.abc import Callable
from collections.abc import Collection
from typing import Any

from cinder import context
from cinder.volume import qos_specs

from rbd_volume_options import rate_limits

#: Consumers of QoS specs that make the driver set limits on images.
_OF_IMAGES = ('back-end', 'both')


def read_qos(ident: str) -> Any:
    """Return QoS specs, which only administrators may read."""
    return qos_specs.get_qos_specs(context.get_admin_context(), ident)


def with_maxima(
    volume_type: Any,
    names: Collection[str],
    read: Callable[[str], Any] = read_qos,
) -> dict[str, str]:
    """Return the extra specs of a type, with the maxima for keys of a volume.

    A limit in QoS specs is the operator's. A key of a volume replaces it in
    the image, so it is the most that the key can be, unless the type sets
    another maximum.

    :param names: keys that the volume has; QoS specs are read only for limits
    """
    if volume_type is None:
        return {}
    specs = dict(volume_type['extra_specs'] or {})
    ident = volume_type.get('qos_specs_id', None)
    if ident is None or not rate_limits.limited_by(names):
        return specs
    limits = read(ident)
    if limits.consumer in _OF_IMAGES:
        specs |= rate_limits.maxima_of(limits.specs or {}, specs, names)
    return specs
