# SPDX-License-Identifier: Apache-2.0

"""The report of ``cinder-rbd-ext audit``, stored by the operator.

Only Ceph knows, for example, whether an object map is valid and which images
have no volume. Viewing a page must not cause load on Ceph, so the panel reads
the file that the audit wrote with ``--output``.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import json
import logging
import pathlib
import re
from typing import Any

from horizon_volume_opts import conf
from horizon_volume_opts.admin_images import images
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

_VOLUME = re.compile(r'volume-([0-9a-f-]{36})')
_SHOWN = (
    wire.AUDIT_KIND,
    wire.AUDIT_POOL,
    wire.AUDIT_IMAGE,
    wire.AUDIT_DETAIL,
)
_STATES = {
    each.value: each
    for each in (
        images.MapState.VALID,
        images.MapState.INVALID,
        images.MapState.NONE,
    )
}


Finding = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Report:
    """The part of a report that the panel shows.

    A volume that was migrated has an image with another ID. Findings and
    states are by either ID, as the report has them.

    :ivar taken: the time of the audit, in ISO 8601
    :ivar states: states of object maps, by volume ID
    :ivar findings: findings by volume ID; those with an empty ID are not about
        a volume of Cinder
    :ivar is_unreadable: whether there is a report that cannot be read
    """

    taken: str = ''
    states: Mapping[str, images.MapState] = dataclasses.field(
        default_factory=dict
    )
    findings: Mapping[str, list[Finding]] = dataclasses.field(
        default_factory=dict
    )
    is_unreadable: bool = False

    def checked(self, image: images.Image, image_id: str) -> images.Image:
        """Return an image with the results of the audit.

        The record of Cinder is newer than the report: an image that got an
        object map since then is not checked.

        :param image_id: the ID in the name of the image
        """
        state = image.map_state
        seen = self.states.get(image_id)
        has_map = state is images.MapState.UNCHECKED
        agrees = has_map == (seen is not images.MapState.NONE)
        if seen and (agrees or state is images.MapState.UNKNOWN):
            state = seen
        kinds = [
            each[wire.AUDIT_KIND]
            for ident in dict.fromkeys((image.ident, image_id))
            for each in self.findings.get(ident, ())
        ]
        return dataclasses.replace(
            image,
            map_state=state,
            findings=tuple(dict.fromkeys(kinds)),
        )

    def others(self, listed: Collection[str]) -> list[Finding]:
        """Return the findings that are not about a volume of the list.

        :param listed: the IDs of the volumes and of their images
        """
        return [
            each
            for ident, about_volume in self.findings.items()
            if ident not in listed
            for each in about_volume
        ]


def read() -> Report:
    """Return the report; an empty one if there is none to read."""
    path = conf.get(conf.AUDIT_REPORT)
    if not path:
        return Report()
    try:
        return _of(json.loads(pathlib.Path(path).read_text(encoding='utf-8')))
    except FileNotFoundError:
        LOG.warning('There is no report of an audit in %s yet', path)
        return Report()
    except Exception:
        # The panel shows the volumes whatever is in the file.
        LOG.exception('Could not read the report of the audit in %s', path)
        return Report(is_unreadable=True)


def _of(values: Any) -> Report:
    """Return the report for a JSON document.

    :raises LookupError, TypeError, ValueError: for another document
    """
    version = values[wire.AUDIT_VERSION]
    if version != wire.AUDIT_THIS_VERSION:
        raise ValueError(f'unknown version {version}')
    by_volume: dict[str, list[Finding]] = {}
    for each in values[wire.AUDIT_FINDINGS]:
        shown = {name: str(each[name]) for name in _SHOWN}
        by_volume.setdefault(str(each[wire.AUDIT_VOLUME]), []).append(shown)
    ours = {
        match[1]: each
        for each in values[wire.AUDIT_IMAGES]
        if (match := _VOLUME.fullmatch(each[wire.AUDIT_NAME]))
    }
    states = {
        ident: _STATES[each[wire.AUDIT_OBJECT_MAP]]
        for ident, each in ours.items()
    }
    return Report(str(values[wire.AUDIT_TAKEN]), states, by_volume)
