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

"""What differs between the releases of Cinder that the driver is for.

From 26 (2025.1) to 29 (2026.2). A difference that a name tells is asked for
by the name; one in what a method does, by the release.
"""

import re
from typing import Any

from cinder import utils
from cinder import version


def _major(text: str) -> int:
    """Return a version's first number; 0 for what isn't a version.

    A copy of Cinder that was never built has none; it is taken for new.
    """
    number = re.match(r'\d+', text)
    return int(number[0]) if number else 0


RELEASE = _major(version.version_string())

#: Whether a re-image writes into the RBD image that there is. Up to 28 the
#: stock driver deletes it and imports another.
REIMAGE_KEEPS_IMAGE = RELEASE == 0 or RELEASE >= 29


def off_the_hub(blocking: Any) -> Any:
    """Return an object whose methods don't stop eventlet's other threads.

    Cinder 29 runs without eventlet as well and decides by itself.
    """
    wrap = getattr(utils, 'tpool_wrap', None)
    if wrap is None:
        # Not at the top: Cinder will do without eventlet one day.
        from eventlet import tpool

        wrap = tpool.Proxy
    return wrap(blocking)
