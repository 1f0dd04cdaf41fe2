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

"""The layouts and the image features of a plan, as keys of volume types."""

from collections.abc import Mapping
from typing import Any

from rbd_bench import fields
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

Keys = dict[str, str]


def read(section: fields.Fields, key: str) -> dict[str, Keys]:
    """Return keys of volume types by the names that the plan gives them.

    :raises OptionError: for an invalid value
    """
    if key not in section:
        return {'default': {}}
    where = section.path(key)
    by_name = section.raw(key)
    if not isinstance(by_name, Mapping) or not by_name:
        raise fields.refused(
            where, by_name, 'not a mapping', 'names with keys'
        )
    return {
        fields.name(where, name): _keys(f'{where}.{name}', each)
        for name, each in by_name.items()
    }


def _keys(where: str, content: Any) -> Keys:
    if content is None:
        return {}
    names = (
        keys.OBJECT_SIZE,
        keys.STRIPE_UNIT,
        keys.STRIPE_COUNT,
        keys.OBJECT_MAP,
        keys.FEATURES,
    )
    checked = fields.Fields(where, content, names)
    wanted = {key: str(checked.raw(key)) for key in names if key in checked}
    _check(where, wanted)
    return wanted


def _check(where: str, wanted: Keys) -> None:
    """Check that librbd accepts the keys."""
    try:
        parsed = options.parse(
            wanted, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE
        )
        layout.check_unit(
            layout.ImageLayout(
                parsed.object_size or layout.DEFAULT_OBJECT_SIZE,
                parsed.striping,
            )
        )
    except errors.OptionError as error:
        raise fields.refused(
            f'{where}.{error.key}', error.value, error.reason, error.allowed
        ) from None


def check_together(
    section: fields.Fields,
    layouts: Mapping[str, Keys],
    image_features: Mapping[str, Keys],
) -> None:
    """Check each layout with each set of features.

    :raises OptionError: if both set a key, or their keys contradict each other
    """
    where = section.path('features')
    for one in layouts.values():
        for name, other in image_features.items():
            if both := set(one) & set(other):
                raise fields.refused(
                    where,
                    ', '.join(sorted(both)),
                    'set in layouts too',
                    'a key in one of the two',
                )
            _check(f'{where}.{name}', {**one, **other})
