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

"""The keys that tenants may set: ``rbd_tenant_options`` and its extra spec."""

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import lists
from rbd_volume_options import phrases


def parse(value: str) -> frozenset[str]:
    """Return the keys in a list; an empty list allows no keys.

    :raises OptionError: for a name that is not a key of volume metadata
    """
    names = frozenset(lists.split(value)) if value else frozenset[str]()
    for name in sorted(names):
        if name not in keys.VOLUME_KEYS:
            raise errors.OptionError(
                keys.TENANT_OPTIONS,
                value,
                phrases.Phrase(
                    '{name} is not a key that tenants can set',
                    name=errors.shown(name),
                ),
                phrases.Phrase(
                    'a comma-separated list of {names}',
                    names=', '.join(keys.VOLUME_KEYS),
                ),
            )
    return names


def check(given: frozenset[str], allowed: frozenset[str]) -> None:
    """Check that a tenant is allowed to set the given keys.

    :raises OptionError: for the first key that is not allowed
    """
    for name in sorted(given - allowed):
        raise errors.OptionError(
            name,
            'given',
            phrases.Phrase('tenants may not set this key on this volume type'),
            ', '.join(k for k in keys.VOLUME_KEYS if k in allowed)
            or keys.NO_KEY,
            errors.Origin.VOLUME_METADATA,
        )
