# SPDX-License-Identifier: Apache-2.0

"""What decides on the cache mode of an attachment, of a volume of Cinder.

The API decides first, so that a refusal is the response to the request. The
driver knows more and decides again.
"""

import functools

from oslo_log import log as logging

from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from rbd_volume_options import agreement
from rbd_volume_options import request

LOG = logging.getLogger(__name__)


def attaching(volume: protocols.Volume) -> agreement.Attaching:
    """Return a volume that is to be attached."""
    return agreement.Attaching(
        volume.id,
        request.metadata_of(volume),
        request.specs_of(volume.volume_type),
        bool(volume.multiattach),
        functools.partial(record.is_accepted, volume),
        LOG.warning,
    )
