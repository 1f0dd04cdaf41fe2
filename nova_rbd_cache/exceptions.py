# SPDX-License-Identifier: Apache-2.0

"""Exceptions that are raised to nova-compute."""

from nova import exception

from nova_rbd_cache.i18n import _


class CacheModeRefused(exception.Invalid):
    """A volume requests a cache mode that this host does not allow.

    Tenants can read the message in the fault of their server, so it does not
    name the host.
    """

    msg_fmt = _(
        'Volume %(volume_id)s requests cache mode %(mode)s, which the compute '
        'host does not allow; allowed: %(allowed)s'
    )


class DiscardGranularityRefused(exception.Invalid):
    """A volume requests a discard granularity that libvirt would ignore."""

    msg_fmt = _(
        'Volume %(volume_id)s requests %(key)s, which requires libvirt '
        '%(oldest)s or later; the compute host has libvirt %(version)s'
    )


class CannotRegister(exception.NovaException):
    """The plug-in is enabled but cannot be registered in nova-compute."""

    msg_fmt = _(
        'nova_rbd_cache cannot be active: %(reason)s. To start nova-compute '
        'without it, set [rbd_cache] enabled = False.'
    )
