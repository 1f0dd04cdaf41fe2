#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""``conf_rbd_cache``: a setting of an image that overrides the cache mode."""

from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext.attach import attachment_mode
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import keys

LOG = logging.getLogger(__name__)

# librbd's source of a value that neither the image nor its pool has set.
_BY_CLIENT = 0
#: Image metadata that beats QEMU's cache mode, and that clones inherit.
CACHE_OVERRIDE = 'conf_rbd_cache'


def drop(image: Any) -> bool:
    """Remove what an image inherited that would beat its cache mode.

    :returns: whether there was something to remove
    """
    inherited = CACHE_OVERRIDE in dict(image.metadata_list())
    if inherited:
        image.metadata_remove(CACHE_OVERRIDE)
        LOG.info(
            'Removed %s, which was inherited, from %s',
            CACHE_OVERRIDE,
            image.get_name(),
        )
    return inherited


def of_image(image: Any) -> bool | None:
    """Return what an image or its pool says of ``rbd_cache``, if anything.

    Such a setting beats the one that QEMU makes by its cache mode: librbd
    reads it when the image is opened (``librbd::ImageCtx::apply_metadata``).
    """
    for option in image.config_list():
        if option['name'] == 'rbd_cache' and option['source'] != _BY_CLIENT:
            return cache_modes.librbd_caches(option['value'])
    return None


def check(asked: attachment_mode.Asked, cached: bool | None) -> None:
    """Check that an image has no setting of its own that beats the mode.

    :param cached: that setting of librbd's ``rbd_cache``; None for none
    :raises OptionError: where it has
    """
    if cached is None or cached is asked.mode.uses_rbd_cache:
        return
    agreeing = [m for m in cache_modes.CacheMode if m.uses_rbd_cache is cached]
    raise errors.OptionError(
        keys.CACHE_MODE,
        asked.mode.value,
        f'conf_rbd_cache = {str(cached).lower()}, set on the RBD image or its '
        f'pool, beats it',
        f'{cache_modes.joined(agreeing)}; or have the setting removed',
        asked.origin,
    )
