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


"""The volume types of winners."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import re
import shlex

from rbd_bench import plan
from rbd_bench import summary
from rbd_bench import winners
from rbd_volume_options import cache_modes
from rbd_volume_options import keys

#: The mode of Nova for RBD, which needs no key.
_DEFAULT_MODE = cache_modes.CacheMode.NONE.value


@dataclasses.dataclass(frozen=True)
class VolumeType:
    """A volume type for a winner.

    :ivar loads: the loads that it won
    """

    name: str
    properties: Mapping[str, str]
    loads: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that creates the volume type."""
        words = ['cinder-rbd-ext', 'types', 'ensure', '--name', self.name]
        for key, value in self.properties.items():
            words += ['--property', f'{key}={value}']
        return shlex.join(words)


def find(tables: Iterable[summary.Table]) -> list[VolumeType]:
    """Return the volume types of all winners, without duplicates."""
    loads: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for table in tables:
        if table.winner and (properties := _properties(table)):
            loads.setdefault(tuple(properties.items()), []).append(table.load)
    return [
        VolumeType(_name(properties), dict(properties), tuple(of))
        for properties, of in loads.items()
    ]


def _properties(table: summary.Table) -> dict[str, str]:
    """Return the keys of a winner; none if only other axes have won.

    The type has all keys of the volumes that were measured, also those that
    all rows have in common.
    """
    if table.winner is None:
        return {}
    winner, base = table.winner.cell, table.rows[0].cell
    changed = winners.changes(winner.values, base.values)
    if not changed & set(winners.TYPE_AXES):
        return {}
    properties = dict(winner.keys)
    mode = winner.values.get(plan.CACHE_MODE, _DEFAULT_MODE)
    if plan.CACHE_MODE in changed or mode != _DEFAULT_MODE:
        properties[keys.CACHE_MODE] = mode
    return properties


def _name(properties: Iterable[tuple[str, str]]) -> str:
    words = [
        f'{key.removeprefix(keys.PREFIX)}-{value}' for key, value in properties
    ]
    text = '-'.join(words).lower().replace('_', '-')
    return 'rbd-' + re.sub(r'[^a-z0-9-]+', '-', text)
