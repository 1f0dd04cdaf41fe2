# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The sandbox's compute hosts, with another configuration for a while."""

from collections.abc import Iterator
import contextlib
import os
import signal
import time

from onecloud import state
from onecloud import supervise

# Of a program; a second host's has a number at the end.
_NAME = 'nova-compute'
#: Of the log, which says it at each start.
_STARTED = 'nova_rbd_cache is '


@contextlib.contextmanager
def configured(text: str) -> Iterator[None]:
    """Have lines at the end of each configuration; restart them twice."""
    place = state.State(state.default_root())
    confs = {
        conf: conf.read_text()
        for conf in place.etc.glob(f'nova/{_NAME}*.conf')
    }
    try:
        for conf, before in confs.items():
            conf.write_text(f'{before}\n{text}')
        _restart(place)
        yield
    finally:
        for conf, before in confs.items():
            conf.write_text(before)
        _restart(place)


def _restart(place: state.State) -> None:
    """Have them start anew; return when each does as it is configured."""
    supervisor = supervise.Supervisor(place, {})
    starts = {}
    for name, process in supervisor.processes().items():
        if name.startswith(_NAME):
            starts[name] = _starts(place, name)
            # It takes its time to end in good order, and supervisord starts
            # it again.
            os.kill(process['pid'], signal.SIGKILL)
    deadline = time.monotonic() + 120
    while any(_starts(place, name) == n for name, n in starts.items()):
        if time.monotonic() > deadline:
            raise AssertionError('nova-compute does not start')
        time.sleep(0.3)


def _starts(place: state.State, name: str) -> int:
    log = place.log / f'{name}.log'
    return log.read_text(errors='replace').count(_STARTED)
