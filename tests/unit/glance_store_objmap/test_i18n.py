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

"""Messages are translated with the catalogs of the package."""

import oslo_i18n
from oslo_i18n import fixture

from glance_store_objmap import i18n
from tests.unit import base

_TEXT = 'RBD image %s already exists'


class TranslationTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # Lazy translation, as in the service, for the language of each
        # request.
        self.useFixture(fixture.ToggleLazy(True))

    def test_message_is_translated_into_german(self) -> None:
        translate = i18n._
        message = translate(_TEXT)
        self.assertIn(
            'Das RBD-Abbild %s existiert bereits',
            oslo_i18n.translate(message, 'de'),
        )
