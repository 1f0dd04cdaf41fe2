# SPDX-License-Identifier: Apache-2.0

"""Registration of the plug-in in nova-compute.

The registration does not change files of Nova. In memory, it registers a
volume driver with Nova, replaces Nova's ``LibvirtDriver`` and, if the operator
configured features for ephemeral disks, Nova's ``RBDDriver``.
"""

from typing import Any

from nova import exception
import nova.conf
from nova.storage import rbd_utils
from nova.virt import libvirt
from nova.virt.libvirt import driver
from oslo_log import log as logging

from nova_rbd_cache import compute_driver
from nova_rbd_cache import contract
from nova_rbd_cache import ephemeral
from nova_rbd_cache import settings
from rbd_volume_options.families import cache_modes

LOG = logging.getLogger(__name__)


class CannotRegister(exception.NovaException):
    """The plug-in is enabled but cannot be registered in nova-compute."""

    msg_fmt = (
        'nova_rbd_cache cannot be active: %(reason)s. To start nova-compute '
        'without it, set [rbd_cache] enabled = False.'
    )


def activate() -> bool:
    """Register the plug-in in this process if enabled, and log the result.

    :returns: whether the plug-in is active
    :raises ValueError: for an invalid value in ``[rbd_cache]``
    :raises CannotRegister: if Nova does not have the expected interfaces
    """
    conf = nova.conf.CONF
    if not settings.enabled(conf):
        LOG.info(
            'nova_rbd_cache is not active: [rbd_cache] enabled = False. '
            'Requested cache modes of volumes are not available on this host.'
        )
        _remove_traits(conf)
        return False
    if not is_libvirt(conf):
        LOG.info(
            'nova_rbd_cache is not active: compute_driver is %s',
            conf.compute_driver,
        )
        return False
    host_settings = settings.read(conf)
    register(host_settings)
    LOG.info(
        'nova_rbd_cache is active: allowed cache modes of RBD volumes: '
        '%(modes)s; RBD images of ephemeral disks have %(features)s',
        {
            'modes': cache_modes.joined(host_settings.allowed_modes),
            'features': (
                'the configured features'
                if host_settings.ephemeral.chosen
                else 'the default features'
            ),
        },
    )
    return True


def _remove_traits(conf: Any) -> None:
    """Have nova-compute remove the traits that it has reported.

    Nothing is raised: nova-compute must start if the plug-in is disabled.
    """
    if is_libvirt(conf) and not any(contract.problems()):
        libvirt.LibvirtDriver = compute_driver.WithoutModes


def is_libvirt(conf: Any) -> bool:
    """Return whether this host uses the libvirt driver."""
    return str(conf.compute_driver).split('.')[0] == 'libvirt'


def register(host_settings: settings.Settings) -> None:
    """Register the plug-in; repeated calls are safe.

    :raises CannotRegister: if Nova does not have the expected interfaces;
        nothing is changed then
    """
    wrong = list(contract.problems(host_settings))
    if wrong:
        raise CannotRegister(reason='; '.join(wrong))
    driver.VOLUME_DRIVERS['rbd'] = contract.OUR_DRIVER
    libvirt.LibvirtDriver = compute_driver.RBDCacheDriver
    if host_settings.ephemeral.given:
        rbd_utils.RBDDriver = ephemeral.EphemeralRBDDriver
