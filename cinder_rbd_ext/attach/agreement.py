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
"""What an attachment comes to, as the API and the driver both judge it.

The API judges first, where a refusal is an answer to the request. The driver
judges again: it also sees what only the back end knows.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext.attach import attachment_mode
from cinder_rbd_ext.attach import host_modes
from cinder_rbd_ext.attach import replacement
from rbd_volume_options import errors


@dataclasses.dataclass(frozen=True)
class Agreement:
    """What an attachment comes to.

    :ivar asked: the mode that it gets; None to leave it to the host
    :ivar error: why it does not get the mode that is asked for; None where it
        does, or nobody asks
    :ivar refused: whether the attachment is refused for that
    :ivar strict: whether it is refused for what else defeats the mode
    """

    asked: attachment_mode.Asked | None = None
    error: errors.OptionError | None = None
    refused: bool = False
    strict: bool = False


def agree(
    volume: Any,
    connector: Mapping[str, Any],
    settings: backend_settings.BackendSettings,
    certain: bool,
    earlier: Callable[[], replacement.Earlier | None],
) -> Agreement:
    """Compare what is asked for a volume with what a host offers.

    :param certain: whether the connection is for a server; nothing else is
        refused for a mode
    :param earlier: looks for the attachment that this one replaces. Its mode
        stays where the one that is asked for is not allowed any more: the
        server has the volume, and must be able to go to another host.
    """
    strict = certain and settings.strict_cache_mode
    error = None
    try:
        asked = attachment_mode.asked(volume, settings)
    except errors.OptionError as not_allowed:
        replaced = earlier()
        if replaced is None:
            return Agreement(error=not_allowed, refused=certain)
        asked, error = attachment_mode.kept(replaced.mode), not_allowed
    if asked is None:
        return Agreement(error=error, strict=strict)
    try:
        host_modes.check(asked, host_modes.of_connector(connector))
    except errors.OptionError as not_offered:
        return Agreement(error=not_offered, refused=strict, strict=strict)
    return Agreement(asked, error, strict=strict)
