# SPDX-License-Identifier: Apache-2.0

"""Changes of the fixed keys of a volume."""

from collections.abc import Mapping

import webob.exc

from cinder_rbd_ext import capabilities
from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import record
from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import pools
from cinder_rbd_ext.retype import changes
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options

Items = Mapping[str, str]

_ORIGIN = errors.Origin.VOLUME_METADATA


def check(
    context: protocols.Context,
    volume: protocols.Volume,
    reported: pools.ReportedPools,
    before: Items,
    after: Items,
) -> None:
    """Check a change of the fixed keys of a volume.

    :raises OptionError: with the first key that may not change
    """
    changed = checks.changed(before, after)
    fixed = set(filter(definitions.is_fixed, changed))
    if fixed and policies.allows(context, policies.CORRECT_FIXED, volume):
        checks.check_fixed(
            {k: v for k, v in before.items() if k not in fixed},
            {k: v for k, v in after.items() if k not in fixed},
        )
        _check_agrees(volume, fixed, after)
    elif not fixed or changed & after.keys() or _is_ours(volume, reported):
        checks.check_fixed(before, after)


def _is_ours(volume: protocols.Volume, reported: pools.ReportedPools) -> bool:
    """Return whether the back end of a volume may have our driver."""
    try:
        here = reported.holding(volume)
    except webob.exc.HTTPServiceUnavailable:
        return True
    return here is None or capabilities.is_ours(here.capabilities)


def _check_agrees(
    volume: protocols.Volume, fixed: set[str], after: Items
) -> None:
    """Check that keys agree with the record of the image.

    Each of them may be removed.

    :raises OptionError: for a key that does not agree
    """
    present = sorted(fixed & after.keys())
    if not present:
        return
    asked = options.parse(after, keys.Scope.VOLUME, _ORIGIN)
    state = record.of_volume(volume, record.items_of(volume.id))
    if state is None:
        raise errors.OptionError(
            present[0],
            after[present[0]],
            'the volume has no record of its image',
            'removal of the key',
            _ORIGIN,
        )
    contradiction = changes.disagreement(asked, state)
    if contradiction:
        raise contradiction
