# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The report of ``cinder-rbd-ext audit``, stored by the operator.

Only Ceph knows, for example, whether an object map is valid and which images
have no volume. Viewing a page must not cause load on Ceph, so the panel reads
the file that the audit wrote with ``--output``.
"""

from collections.abc import Mapping
import dataclasses
import json
import logging
import pathlib
import re
from typing import Any

from horizon_volume_opts import conf
from horizon_volume_opts.admin_images import images

LOG = logging.getLogger(__name__)

_VERSION = 1
_VOLUME = re.compile(r'volume-([0-9a-f-]{36})')
# Object maps of snapshots have their own kind of finding.
_STATES = {
    each.value: each
    for each in (
        images.MapState.VALID,
        images.MapState.INVALID,
        images.MapState.NONE,
    )
}


@dataclasses.dataclass(frozen=True)
class Report:
    """The part of a report that the panel shows.

    :ivar taken: the time of the audit, in ISO 8601
    :ivar states: states of object maps, by volume ID
    :ivar used: used bytes, by volume ID; only those that are known
    :ivar findings: kinds of findings, by volume ID
    :ivar others: findings that are not about a volume of Cinder
    """

    taken: str = ''
    states: Mapping[str, images.MapState] = dataclasses.field(
        default_factory=dict
    )
    used: Mapping[str, int] = dataclasses.field(default_factory=dict)
    findings: Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=dict
    )
    others: list[dict[str, str]] = dataclasses.field(default_factory=list)

    def checked(self, image: images.Image) -> images.Image:
        """Return an image with the results of the audit.

        The record of Cinder is newer than the report: an image that got an
        object map since then is not checked.
        """
        state = image.map_state
        seen = self.states.get(image.ident)
        has_map = state is images.MapState.UNCHECKED
        agrees = has_map == (seen is not images.MapState.NONE)
        if seen and (agrees or state is images.MapState.UNKNOWN):
            state = seen
        return dataclasses.replace(
            image,
            map_state=state,
            used=self.used.get(image.ident),
            findings=self.findings.get(image.ident, ()),
        )


def read() -> Report:
    """Return the report; an empty one if there is none."""
    path = conf.get(conf.AUDIT_REPORT)
    if not path:
        return Report()
    try:
        return _of(json.loads(pathlib.Path(path).read_text(encoding='utf-8')))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        LOG.exception('Could not read the report of the audit in %s', path)
        return Report()


def _of(values: Any) -> Report:
    """Return the report for a JSON document.

    :raises LookupError, TypeError, ValueError: for another document
    """
    if values['version'] != _VERSION:
        raise ValueError(f'unknown version {values["version"]}')
    kinds: dict[str, list[str]] = {}
    others = []
    for each in values['findings']:
        if each['volume']:
            kinds.setdefault(each['volume'], []).append(each['kind'])
        else:
            others.append(
                {
                    name: str(each[name])
                    for name in ('kind', 'pool', 'image', 'detail')
                }
            )
    ours = {
        match[1]: each
        for each in values['images']
        if (match := _VOLUME.fullmatch(each['name']))
    }
    states = {
        ident: _STATES[each['object_map']] for ident, each in ours.items()
    }
    # Reports of older versions, and those without --used, have no value.
    used = {
        ident: int(each['used'])
        for ident, each in ours.items()
        if each.get('used') is not None
    }
    return Report(
        str(values['taken']),
        states,
        used,
        {ident: tuple(dict.fromkeys(found)) for ident, found in kinds.items()},
        others,
    )
