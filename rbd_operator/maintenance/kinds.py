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

"""How each kind of finding of the audit is removed."""

from collections.abc import Mapping
import enum

from rbd_operator.audit import findings
from rbd_operator.audit import names
from rbd_operator.maintenance import outcomes


class Way(enum.Enum):
    """A method of removal."""

    #: The image goes to the trash, from where it can be restored.
    TRASH = 'move the image to the trash'
    #: The image in the trash is deleted, as its deferment has ended.
    PURGE = 'delete the image in the trash'
    #: A snapshot that a service created for its own use, not for a tenant.
    SNAPSHOT = 'delete the snapshot'
    #: The name of an image without header and data.
    NAME = 'delete the rest of the image'


WAYS: Mapping[findings.Kind, Way] = {
    findings.ORPHAN_VOLUME: Way.TRASH,
    findings.ORPHAN_IMAGE: Way.TRASH,
    findings.ORPHAN_DISK: Way.TRASH,
    findings.DELETED_SOURCE: Way.TRASH,
    findings.IN_TRASH: Way.PURGE,
    findings.CLONE_SNAPSHOT: Way.SNAPSHOT,
    findings.ORPHAN_BACKUP: Way.SNAPSHOT,
    findings.HALF_REMOVED: Way.NAME,
}

#: Kinds of findings that may belong to another cloud if clouds share a pool,
#: with the kind of owner of the image or snapshot.
ORPHANS: Mapping[findings.Kind, names.Owner] = {
    findings.ORPHAN_VOLUME: names.Owner.VOLUME,
    findings.ORPHAN_IMAGE: names.Owner.GLANCE_IMAGE,
    findings.ORPHAN_DISK: names.Owner.SERVER_DISK,
}

_MAPS = 'Use cinder-rbd-ext object-map enable or rebuild.'

#: Remedies that replace those of the audit.
_INSTEAD: Mapping[findings.Kind, str] = {
    findings.MAP_INVALID: _MAPS,
    findings.SNAPSHOT_MAP_INVALID: _MAPS,
    findings.SLOW_DELETION: _MAPS,
    findings.ORPHAN_SNAPSHOT: 'A snapshot cannot be moved to the trash. '
    'Manage it with Cinder, or remove it with rbd snap rm.',
}


def refusal(kind: findings.Kind) -> outcomes.Reason | None:
    """Return why findings of a kind cannot be removed; None if they can."""
    if kind in WAYS:
        return None
    return outcomes.Reason(
        'not-cleanable',
        f'{kind.code} cannot be removed safely',
        _INSTEAD.get(kind, kind.remedy),
    )
