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
from rbd_volume_options import backend_settings
from rbd_volume_options import compute_hosts

LOG = logging.getLogger(__name__)


def agree(
    volume: protocols.Volume,
    connector: protocols.Connector,
    settings: backend_settings.BackendSettings,
) -> agreement.Agreement:
    """Compare what a volume requests with what a compute host can do."""
    return agreement.agree(
        volume,
        compute_hosts.host_in_connector(connector),
        settings,
        functools.partial(record.is_accepted, volume),
        LOG.warning,
    )
