# SPDX-License-Identifier: Apache-2.0

"""The kinds of findings of an audit, in the language of the user."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from rbd_volume_options import wire

LABELS: dict[str, Any] = {
    'object-map-invalid': _('invalid object map'),
    'snapshot-object-map-invalid': _('invalid object map of a snapshot'),
    'configuration-override': _('overrides the configuration of Ceph'),
    wire.AUDIT_ORPHAN_VOLUME: _('image without a volume'),
    'orphan-snapshot': _('snapshot without a volume snapshot'),
    'orphan-backup-snapshot': _('snapshot without a backup'),
    'orphan-image': _('image without a Glance image'),
    'orphan-disk': _('disk without an instance'),
    'volume-without-image': _('volume without an image'),
    'volume-snapshot-lost': _('volume snapshot without its data'),
    'interrupted-upload': _('interrupted upload of an image'),
    'deleted-source-not-needed': _('deleted source that no clone needs'),
    'clone-snapshot-without-clone': _('snapshot of a clone that is gone'),
    'half-removed': _('image that is partly removed'),
    'expired-trash': _('expired image in the trash'),
    'unfinished-rbd-migration': _('unfinished migration of Ceph'),
    'unfinished-cinder-migration': _('unfinished migration of Cinder'),
    'multiattach-with-single-client-features': _(
        'features for one client on a multi-attach volume'
    ),
    'attributes-contradict-image': _('image differs from the record'),
    'configuration-contradicts-record': _(
        'limits or hints differ from the record'
    ),
    'deep-flatten-missing': _('snapshots keep the parent after a flatten'),
    'slow-deletion': _('slow deletion'),
    'not-readable': _('not readable'),
    'pool-not-readable': _('pool that cannot be read'),
    'damaged-trash-entry': _('damaged entry of the trash'),
    'back-end-not-audited': _('back end that was not audited'),
    'cannot-be-opened': _('image that cannot be opened'),
    'id-object-lost': _('lost ID object of an image'),
    'interrupted-trash-move': _('name of an image in the trash'),
    'interrupted-removal': _('interrupted removal'),
    'data-without-header': _('data without an image'),
    'header-without-entry': _('image without a name'),
    'orphan-backup-image': _('image without a backup'),
    'second-image-of-volume': _('second image of a volume'),
    'images-in-namespace': _('images in a namespace'),
    'unknown-name': _('unknown name'),
    'stale-lock': _('lock of a client that is gone'),
    'image-of-another-cloud': _('image of another cloud'),
}


def label(kind: str) -> str:
    """Return the text for a kind; the kind itself for one of a newer audit."""
    return str(LABELS.get(kind, kind))


def labels(kinds: tuple[str, ...]) -> str:
    """Return the texts for the kinds of an image."""
    return ', '.join(label(each) for each in kinds)
