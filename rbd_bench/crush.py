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

"""The OSDs that a CRUSH rule can choose."""

from collections.abc import Mapping
from typing import Any

_Tree = Mapping[int, Mapping[str, Any]]


def osds(tree: Mapping[str, Any], rule: int) -> set[int]:
    """Return the OSDs below the buckets that a rule takes.

    A device class is a bucket of its own, such as ``default~ssd``.

    :param tree: the answer to ``osd crush dump``
    :param rule: ID of the rule
    """
    buckets: _Tree = {each['id']: each for each in tree['buckets']}
    numbers: set[int] = set()
    for each in tree['rules']:
        if each['rule_id'] == rule:
            for step in each['steps']:
                if step['op'] == 'take':
                    numbers |= _below(buckets, step['item'])
    return numbers


def _below(buckets: _Tree, item: int) -> set[int]:
    """Return the OSDs of a bucket, or the OSD itself."""
    # Buckets have negative IDs.
    if item >= 0:
        return {item}
    return {
        osd
        for each in buckets.get(item, {}).get('items', ())
        for osd in _below(buckets, each['id'])
    }
