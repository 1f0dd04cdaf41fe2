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

"""The keys that the creator of a volume may set on it, for the driver.

The API checks the keys of a request. Inherited values are not part of a
request. They are checked here, when the volume is created.
"""

from typing import Any

from cinder_rbd_ext import request
from cinder_rbd_ext.api import policies
from rbd_volume_options import keys


def settable(
    volume: Any, asked: request.Request, moved: bool
) -> frozenset[str]:
    """Return the keys that the creator of a volume may set on it.

    The volume's type, its back end and the policy of this service decide. A
    context without roles does not come from the API, and no policy can be
    checked for it.

    :param volume: Cinder's volume object
    :param moved: whether an operator migrates the volume unchanged
    """
    if moved:
        return frozenset(keys.VOLUME_KEYS)
    # The context of the object, which the manager passed.
    context = volume._context
    if context is None or not context.roles:
        return asked.tenant_options
    return asked.tenant_options & policies.settable(context)
