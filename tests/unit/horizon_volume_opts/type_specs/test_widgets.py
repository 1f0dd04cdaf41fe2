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

"""Test the rendering of the fields."""

from django.utils import html

from horizon_volume_opts.type_specs import guide
from horizon_volume_opts.type_specs import widgets
from tests.unit import base


class PickTestCase(base.TestCase):
    def test_field_and_list_belong_together(self) -> None:
        pick = widgets.Pick([('4MiB', 'four'), ('8MiB', '')])
        text = pick.render('value', '1"', {'id': 'id_value'})
        self.assertIn('list="id_value_suggestions"', text)
        self.assertIn('<datalist id="id_value_suggestions">', text)
        self.assertIn('<option value="4MiB">four</option>', text)
        self.assertIn(html.escape('1"'), text)

    def test_nothing_to_pick_from(self) -> None:
        text = widgets.Pick([]).render('value', '', {'id': 'id_value'})
        self.assertNotIn('list', text)


class KeyPickTestCase(base.TestCase):
    def test_each_key_with_what_is_allowed(self) -> None:
        text = widgets.KeyPick().render('key', '', {'id': 'id_key'})
        for entry in guide.ENTRIES.values():
            self.assertIn(f'<option value="{entry.key}">', text)
            self.assertIn(str(entry.summary), text)
            self.assertIn(html.escape(entry.allowed), text)

    def test_help_is_tied_to_the_field(self) -> None:
        text = widgets.KeyPick().render('key', '', {'id': 'id_key'})
        self.assertIn('aria-describedby="id_key_suggestions_help"', text)
        self.assertIn('<div id="id_key_suggestions_help"', text)

    def test_ids_occur_once(self) -> None:
        text = widgets.KeyPick().render('key', '', {'id': 'id_key'})
        ids = [part.split('"')[0] for part in text.split(' id="')[1:]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertGreater(len(ids), 3)
