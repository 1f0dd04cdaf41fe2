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

"""Restrictions of multi-attach and replicated volume types."""

from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import phrases
from rbd_volume_options import precedence

#: The only cache mode of a multi-attach volume. Whatever the volume, its type
#: or the back end sets, it is attached with this mode: several hosts write to
#: it, and their caches are not coherent.
MULTIATTACH_CACHE_MODE = cache_modes.CacheMode.NONE


def check_shareable(
    resolved: precedence.Resolved, multiattach: bool, replicated: bool
) -> None:
    """Check requested values against a multi-attach or replicated type.

    :raises OptionError: if the type disables a requested feature or cache
        mode, or enables a feature that ``rbd:features`` does not have
    """
    wanted = resolved.image_features
    if multiattach:
        _check_multiattach(resolved)
    if replicated and wanted and wanted.origin in precedence.ASKED:
        needed = {features.EXCLUSIVE_LOCK, features.JOURNALING}
        for name in sorted(needed - wanted.value):
            raise errors.OptionError(
                keys.FEATURES,
                features.joined(wanted.value),
                phrases.Phrase(
                    'a replicated volume type requires {name}', name=name
                ),
                phrases.Phrase(
                    'features with {names}', names=' and '.join(sorted(needed))
                ),
                wanted.origin,
            )


def _check_multiattach(resolved: precedence.Resolved) -> None:
    object_map, wanted = resolved.object_map, resolved.image_features
    if (
        object_map
        and object_map.value
        and object_map.origin in precedence.ASKED
    ):
        raise errors.OptionError(
            keys.OBJECT_MAP,
            'true',
            phrases.Phrase(
                'volumes of a multi-attach type can have several writing '
                'clients'
            ),
            'false',
            object_map.origin,
        )
    if wanted and wanted.origin in precedence.ASKED:
        for name in sorted(wanted.value & features.SINGLE_CLIENT):
            raise errors.OptionError(
                keys.FEATURES,
                features.joined(wanted.value),
                phrases.Phrase(
                    'volumes of a multi-attach type can have several writing '
                    'clients, and {name} supports only one',
                    name=name,
                ),
                phrases.Phrase(
                    'features without {names}',
                    names=', '.join(sorted(features.SINGLE_CLIENT)),
                ),
                wanted.origin,
            )
    mode = resolved.cache_mode
    if (
        mode
        and mode.origin in precedence.ASKED
        and mode.value is not MULTIATTACH_CACHE_MODE
    ):
        raise errors.OptionError(
            keys.CACHE_MODE,
            mode.value.value,
            phrases.Phrase(
                'volumes of a multi-attach type can have several writing '
                'clients, whose caches are not coherent'
            ),
            MULTIATTACH_CACHE_MODE.value,
            mode.origin,
        )
