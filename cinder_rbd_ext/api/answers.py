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

"""The allowed values and defaults of each key, for clients that ask.

See :mod:`rbd_volume_options.published` for the schema.
"""

from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

from cinder_rbd_ext.api import offers
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import precedence
from rbd_volume_options import sharing
from rbd_volume_options import wire

Answer = dict[str, Any]


def of_type(
    volume_type: Any,
    offer: offers.TypeOffer,
    settable: Collection[str],
    shows_pools: bool = True,
) -> Answer:
    """Return the response for a volume type.

    :param settable: the keys that the policy lets the caller set
    :param shows_pools: whether the caller may see the names of pools
    """
    answer: Answer = {
        'id': volume_type['id'],
        'name': volume_type['name'],
        wire.SUPPORTED: False,
        'reason': offer.reason,
        'options': {},
    }
    if offer.reason:
        return answer
    try:
        defaults = offer.defaults()
        allowed = offer.tenant_options & frozenset(settable)
    except errors.OptionError as error:
        # Extra specs that were set without this extension.
        answer['reason'] = str(error)
        return answer
    answer[wire.SUPPORTED] = True
    answer[wire.REQUIRE_WHOLE_STRIPES] = any(
        each.limits.require_whole_stripes for each in offer.settings
    )
    backends = [each.limits for each in offer.settings]
    for option in definitions.with_values():
        choice = _default(option.key, defaults, offer.multiattach)
        is_pool = option.kind is definitions.Kind.DATA_POOL
        if is_pool and not shows_pools:
            choice = None
        answer['options'][option.key] = {
            'summary': str(option.summary),
            'type': option.value_type.value,
            wire.SETTABLE: option.key in allowed,
            wire.FIXED_AT_CREATION: option.fixed,
            'default': definitions.as_json(choice.value) if choice else None,
            wire.DEFAULT_FROM: choice.origin.label if choice else None,
            **option.bounds_of(backends, offer.multiattach),
        }
        if is_pool and shows_pools:
            answer['options'][option.key][wire.CANDIDATES] = offer.data_pools
    return answer


def _default(
    key: str, defaults: Iterable[precedence.Resolved], multiattach: bool
) -> precedence.Choice[Any] | None:
    """Return the default of a key and its origin.

    It is None if the back ends differ, or if Ceph's configuration decides and
    the back end has not reported it. A value of None means that volumes are
    not striped.
    """
    choices = [each.effective(key) for each in defaults]
    if multiattach:
        choices = [sharing.shared(key, each) for each in choices]
    if any(each != choices[0] for each in choices):
        return None
    return choices[0]


def of_types(answers: Iterable[Answer]) -> Answer:
    """Return the response for several types, sorted by name."""
    return {
        'volume_types': sorted(answers, key=lambda each: str(each['name']))
    }
