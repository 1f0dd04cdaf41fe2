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

"""Restores of backups, in which a volume keeps its keys.

The backup service connects to the volume through the volume service, restores
data and metadata, and disconnects. All backup drivers do so in this order. The
volume driver is involved in the first and the last step.
"""

import functools
from typing import Any

from oslo_log import log as logging

from cinder_rbd_ext import policies
from cinder_rbd_ext import request
from cinder_rbd_ext.attach import requester
from cinder_rbd_ext.imaging import lookup
from cinder_rbd_ext.lifecycle import backup_keys
from cinder_rbd_ext.retype import changes
from rbd_volume_options import definitions
from rbd_volume_options import limits

LOG = logging.getLogger(__name__)


class Restores:
    """Restores a volume's own keys after a restore of a backup.

    :param driver: the driver, which provides the settings
    :param images: the images in its pool
    """

    def __init__(self, driver: Any, images: lookup.ImageLookup) -> None:
        self._driver = driver
        self._images = images

    def connected(self, volume: Any, connector: Any) -> Any:
        """Copy the keys of a volume to which a backup is restored.

        :returns: the volume, from
            :func:`cinder_rbd_ext.attach.requester.current_for`
        """
        current = requester.current_for(volume, connector)
        if current is None:
            return None
        if current.status in requester.RESTORING:
            backup_keys.remember(volume.id)
        elif backup_keys.is_copied(current.admin_metadata):
            # The restore was interrupted, and the volume is in use again.
            self.repair_keys(volume)
        return current

    def repair_keys(self, volume: Any) -> None:
        """Restore the keys of a volume; a failure is logged and not raised.

        After a failure, the copy of the keys is kept and the next attachment
        tries again.
        """
        try:
            backup_keys.repair(
                volume.id, functools.partial(self._check_keys, volume)
            )
        except Exception:
            LOG.exception('Could not restore the keys of volume %s', volume.id)

    def _check_keys(
        self, volume: Any, metadata: Any, added: frozenset[str]
    ) -> None:
        """Check that a volume may have keys and that its image matches them.

        :param added: the keys that the restore has added
        :raises OptionError: for keys that are not allowed or do not match
        """
        specs = request.specs_of(volume.volume_type)
        texts = request.Texts(metadata, specs)
        texts.check_tenant(self._driver.settings)
        asked = texts.request(self._driver.settings)
        definitions.check_tenant(
            {key: metadata[key] for key in added},
            policies.settable_by_creator(volume, asked, moved=False),
        )
        resolved = asked.resolve(backend_too=False)
        if resolved.striping and resolved.striping.value:
            limits.check_stripe_count(
                resolved.striping.value,
                self._driver.settings.limits,
                resolved.striping.origin,
            )
        contradiction = changes.contradiction(
            asked, self._images.state_of(volume.name)
        )
        if contradiction:
            raise contradiction
