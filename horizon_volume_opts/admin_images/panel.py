# SPDX-License-Identifier: Apache-2.0

"""The panel in Admin > Volume."""

from django.utils.translation import gettext_lazy as _
import horizon


class RBDImages(horizon.Panel):
    """The panel; only for users who can list all volumes: Cinder admins."""

    name = _('RBD Images')
    slug = 'rbd_images'
    permissions = (
        (
            'openstack.services.block-storage',
            'openstack.services.block-store',
            'openstack.services.volume',
            'openstack.services.volumev3',
        ),
    )
    policy_rules = (('volume', 'context_is_admin'),)
