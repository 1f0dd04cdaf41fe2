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

"""Unit tests of cinder_rbd_ext.record: reading a record."""

import cinder  # noqa: F401 - first of all: it decides about eventlet

from cinder_rbd_ext import record
from rbd_volume_options import layout
from rbd_volume_options import plan
from tests.unit import base

_FEATURES = frozenset({'layering', 'striping', 'data-pool'})


class ReadTest(base.TestCase):
    """Tests for reading the state of an image from admin metadata."""

    def test_as_it_was_written(self) -> None:
        for state in (
            plan.ImageState(
                layout.ImageLayout(1 << 20, layout.Striping(4096, 8)),
                _FEATURES,
                'ec',
            ),
            plan.ImageState(layout.ImageLayout(1 << 22), frozenset()),
        ):
            written = {**record.as_metadata(state), 'readonly': 'False'}
            self.assertEqual(state, record.read(written))

    def test_no_record(self) -> None:
        state = plan.ImageState(layout.ImageLayout(1 << 22), _FEATURES)
        written = record.as_metadata(state)
        for key in ('rbd:object_size', 'rbd:stripe_unit', 'rbd:features'):
            rest = {k: v for k, v in written.items() if k != key}
            self.assertIsNone(record.read(rest))
        self.assertIsNone(record.read({**written, 'rbd:stripe_unit': 'x'}))
        self.assertIsNone(record.read({}))
