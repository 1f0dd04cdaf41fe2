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


"""Signals that end a long-running command."""

from collections.abc import Iterator
import contextlib
import signal
from typing import Any


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Have SIGTERM and SIGHUP end a run like Ctrl-C.

    Later signals are ignored while the command removes its images.
    """

    def interrupt(number: int, frame: Any) -> None:
        for each in caught:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, interrupt) for each in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
