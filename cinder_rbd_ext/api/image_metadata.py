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

"""Image metadata of volumes, which the driver ignores.

Cinder copies it to Glance images, which other projects may use. An ``rbd:``
key there would mislead its readers.
"""

from typing import Any

from cinder_rbd_ext.api import checks
from cinder_rbd_ext.api import refusals
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys


def check(asked: dict[str, Any]) -> None:
    """Check a request for ``os-set_image_metadata``.

    :raises HTTPBadRequest: for a key that looks like an ``rbd:`` key
    """
    items = asked.get('metadata')
    if not isinstance(items, dict):
        return
    ours = checks.ours(
        {key: value for key, value in items.items() if isinstance(value, str)}
    )
    for name, value in (ours or {}).items():
        with refusals.bad_request():
            raise errors.OptionError(
                definitions.shown_key(name),
                value,
                'not allowed in image metadata',
                f'keys that do not begin with {keys.PREFIX}',
            )
