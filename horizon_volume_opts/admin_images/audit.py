# SPDX-License-Identifier: Apache-2.0

"""The report of ``cinder-rbd-ext audit``, stored by the operator.

Only Ceph knows, for example, whether an object map is valid and which images
have no volume. Viewing a page must not cause load on Ceph, so the panel reads
the file that the audit wrote with ``--output``.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import json
import logging
import pathlib
from typing import Any

from horizon_volume_opts import conf

LOG = logging.getLogger(__name__)

_VOLUMES = 'volume-'
_SHOWN = (
    'kind',
    'pool',
    'image',
    'detail',
    'volume',
)

Finding = dict[str, str]


class MapState(str, enum.Enum):
    """The known state of the object map of an image."""

    VALID = 'valid'
    #: The image has a map; only Ceph knows whether it is valid.
    UNCHECKED = 'unchecked'
    NONE = 'none'
    #: librbd ignores the map until it is rebuilt.
    INVALID = 'invalid'
    #: There is no record of the image.
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Report:
    """The part of a report that the panel shows.

    :ivar taken: the time of the audit, in ISO 8601
    :ivar states: states of object maps, by the name of the RBD image
    :ivar is_unreadable: whether there is a report that cannot be read
    """

    taken: str = ''
    states: Mapping[str, MapState] = dataclasses.field(default_factory=dict)
    findings: Sequence[Finding] = ()
    is_unreadable: bool = False

    def map_state(self, ident: str, recorded: MapState) -> MapState:
        """Return the state of an object map.

        The record of Cinder is newer than the report: an image that got an
        object map since then is not checked.

        :param ident: the ID in the name of the RBD image
        :param recorded: the state according to Cinder
        """
        seen = self.states.get(_VOLUMES + ident)
        has_map = recorded is MapState.UNCHECKED
        agrees = has_map == (seen is not MapState.NONE)
        if seen and (agrees or recorded is MapState.UNKNOWN):
            return seen
        return recorded


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
    version = values['version']
    if version != 1:
        raise ValueError(f'unknown version {version}')
    return Report(
        str(values['taken']),
        {
            each['name']: MapState(each['object_map'])
            for each in values['images']
            if each['name'].startswith(_VOLUMES)
        },
        [
            {name: str(each[name]) for name in _SHOWN}
            for each in values['findings']
        ],
    )
