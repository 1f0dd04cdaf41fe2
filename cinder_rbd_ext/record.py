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

"""What a volume's row in Cinder's database tells of its RBD image.

What was made stands in the admin metadata, which tenants can't write and
which Cinder's object layer doesn't save in a tenant's context, hence the
database API with a context of its own.
"""

from cinder import context
from cinder import exception
from cinder.db import api as db
from oslo_log import log as logging

from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import plan

LOG = logging.getLogger(__name__)

#: Where a tenant reads why its volume is in ``error``: an entry of the
#: volume's image metadata, which ``openstack volume show`` prints. Cinder's
#: user messages are a fixed list of texts without room for a value.
ERROR_KEY = 'rbd_volume_options_error'

# The column holds 64 KiB; no message of ours comes near this.
_MAX_TEXT = 1024


def as_metadata(state: plan.ImageState) -> dict[str, str]:
    """Return what was made: sizes as digits, features as sorted names."""
    made = {
        keys.OBJECT_SIZE: str(state.layout.object_size),
        keys.STRIPE_UNIT: str(state.layout.stripe_unit),
        keys.STRIPE_COUNT: str(state.layout.stripe_count),
        keys.FEATURES: features.joined(state.image_features),
    }
    if state.data_pool:
        made[keys.DATA_POOL] = state.data_pool
    return made


def made(volume_id: str, state: plan.ImageState) -> None:
    """Record what was made for a volume."""
    admin = context.get_admin_context()
    db.volume_admin_metadata_update(
        admin, volume_id, as_metadata(state), False
    )
    if not state.data_pool:
        recorded = db.volume_admin_metadata_get(admin, volume_id)
        if keys.DATA_POOL in recorded:
            db.volume_admin_metadata_delete(admin, volume_id, keys.DATA_POOL)


def moved(volume_id: str, state: plan.ImageState) -> None:
    """Record what a volume's image is now that it was moved.

    A failure is logged: the source is gone by then, and Cinder must not take
    the volume to be where it was.
    """
    try:
        made(volume_id, state)
    except Exception:
        LOG.exception('Could not record what volume %s is now', volume_id)


def refused(volume_id: str, text: str) -> None:
    """Record why a volume could not be made, where its tenant can read it.

    A failure to do so is logged: it must not hide the refusal.
    """
    try:
        db.volume_glance_metadata_create(
            context.get_admin_context(), volume_id, ERROR_KEY, text[:_MAX_TEXT]
        )
    except exception.GlanceMetadataExists:
        LOG.debug('Volume %s was refused before', volume_id)
    except Exception:
        LOG.exception('Could not record why volume %s failed', volume_id)
