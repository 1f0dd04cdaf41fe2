# SPDX-License-Identifier: Apache-2.0

"""Exceptions that are raised to nova-compute."""

from nova import exception

from nova_rbd_cache.i18n import _


class CannotRegister(exception.NovaException):
    """The plug-in is enabled but cannot be registered in nova-compute."""

    msg_fmt = _(
        'nova_rbd_cache cannot be active: %(reason)s. To start nova-compute '
        'without it, set [rbd_cache] enabled = False.'
    )
