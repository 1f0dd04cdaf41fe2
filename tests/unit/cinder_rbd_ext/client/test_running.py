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


"""Unit tests of cinder_rbd_ext.client.running."""

import signal

from cinder_rbd_ext.client import running
from tests.unit import base


class RunningTest(base.TestCase):
    def test_only_the_first_signal_ends_a_run(self) -> None:
        before = signal.getsignal(signal.SIGTERM)

        def interrupted() -> None:
            with running.ended_by_signals():
                try:
                    signal.raise_signal(signal.SIGTERM)
                finally:
                    signal.raise_signal(signal.SIGINT)

        self.assertRaises(KeyboardInterrupt, interrupted)
        self.assertIs(before, signal.getsignal(signal.SIGTERM))
