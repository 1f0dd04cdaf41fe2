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

"""What operators see in the dashboard."""

from selenium.webdriver.support import expected_conditions

from tests.cloud import base
from tests.cloud import browser

_PANEL = '/admin/rbd_images/'


class ImagesTest(browser.BrowserTestCase):
    """The panel *RBD Images*."""

    def row(self, volume_type: str) -> dict[str, int]:
        """Return the numbers of a volume type, by the head of the column."""
        heads = [
            each.text for each in self.all('#maps thead tr:last-child th')
        ]
        (row,) = (
            [cell.text for cell in each.find_elements('css selector', 'td')]
            for each in self.all('#maps tbody tr')
            if volume_type in each.text.split()
        )
        return {
            head: int(cell)
            for head, cell in zip(heads, row, strict=True)
            if cell.isdigit()
        }

    def count_again(self) -> None:
        """Press the button and wait for other numbers."""
        # Not for another time: the page may have counted in this second.
        before = self.find('.rbd-images-taken')
        self.click('button[name="refresh"]')
        gone = expected_conditions.staleness_of(before)
        self.until_true(lambda: gone(self.driver))
        # The tables come after the time, and Chromium shows what has arrived.
        self.until_loaded()
        self.find('.rbd-images-taken')

    def test_maps_and_layouts(self) -> None:
        name = self.make_type()
        without = {'rbd:features': 'layering,exclusive-lock'}
        for metadata in (base.ASKED, {'rbd:object_map': 'true'}, without):
            self.created(volume_type=name, metadata=metadata)
        self.created(volume_type='fake')
        self.login('admin')
        self.open(_PANEL)
        self.count_again()
        self.assertEqual(
            {
                'Images': 3,
                'With Object Map': 2,
                'Without': 1,
                'Not Recorded': 0,
            },
            self.row(name),
        )
        self.assertNotIn('fake', self.text('#maps'))
        self.assertIn('64 KiB x 8', self.text('#layouts'))
        drawn = self.find('.rbd-images svg')
        self.assertIn(name, drawn.text)
        self.screenshot('rbd-images')
        self.check_quiet()

    def test_numbers_are_kept_until_asked_for_anew(self) -> None:
        name = self.make_type()
        self.login('admin')
        self.open(_PANEL)
        self.count_again()
        taken = self.text('.rbd-images-taken')
        self.created(volume_type=name)
        self.open(_PANEL)
        self.assertEqual(taken, self.text('.rbd-images-taken'))
        self.assertNotIn(name, self.text('.rbd-images'))
        self.count_again()
        self.assertIn(name, self.text('#maps'))

    def test_tenants_have_no_such_panel(self) -> None:
        self.login('demo')
        self.open(_PANEL)
        self.until_true(lambda: 'not authorized' in self.text('body'))
        self.assertFalse(self.shown('.rbd-images'))


class ExtraSpecsTest(browser.BrowserTestCase):
    """The stock forms for a volume type's extra specs, with ours in them."""

    def setUp(self) -> None:
        super().setUp()
        self.name = self.make_type()
        found = self.request('GET', '/types', cloud=self.operator)
        (self.type,) = (
            each['id']
            for each in found['volume_types']
            if each['name'] == self.name
        )
        self.page = f'/admin/volume_types/{self.type}/extras/'
        self.login('admin')

    def specs(self) -> dict[str, str]:
        """Return the extra specs, without the one that each type has."""
        path = f'/types/{self.type}/extra_specs'
        found = self.request('GET', path, cloud=self.operator)['extra_specs']
        return {k: v for k, v in found.items() if k.startswith('rbd:')}

    def fill_in(self, key: str, value: str) -> None:
        """Fill the form that the table's button opens."""
        self.open(self.page)
        self.click('#extras__action_create')
        self.fill('#id_key', key)
        self.fill('#id_value', value)

    def submit(self) -> None:
        self.click('.modal.in input[type="submit"]')

    def refusal(self, field: str) -> str:
        """Return what is said at a field."""
        return self.text(f'.has-error:has(#id_{field}) .help-block:last-child')

    def test_a_pair_in_one_go(self) -> None:
        self.fill_in('rbd:stripe_unit', '64K')
        self.click('.rbd-keys summary')
        self.assertIn('Contiguous bytes', self.text('.rbd-keys'))
        self.screenshot('extra-spec')
        self.fill('#id_partner', '8')
        self.submit()
        asked = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
        self.until_true(lambda: self.specs() == asked)
        self.check_quiet()

    def test_what_is_wrong_stands_at_its_field(self) -> None:
        self.fill_in('rbd:object_size', '3M')
        self.assertFalse(self.shown('#id_partner'))
        self.submit()
        self.assertIn('a power of two', self.refusal('value'))
        self.assertEqual('3M', self.find('#id_value').get_property('value'))
        # librbd would have it, the back ends of the type don't.
        self.fill('#id_key', 'rbd:stripe_unit')
        self.fill('#id_value', '64K')
        self.fill('#id_partner', '100000')
        self.submit()
        self.assertIn('1 to 64', self.refusal('partner'))
        self.screenshot('extra-spec-refused')
        self.assertEqual({}, self.specs())

    def test_an_edit_that_is_refused(self) -> None:
        self.fill_in('rbd:cache_mode', 'none')
        self.submit()
        # The page is loaded anew when it is saved.
        self.until_true(lambda: 'rbd:cache_mode' in self.text('#extras'))
        self.open(f'{self.page}rbd:cache_mode/edit/')
        self.fill('#id_value', 'fast')
        self.click('input[type="submit"]')
        self.assertIn('not a cache mode', self.refusal('value'))
        self.fill('#id_value', 'writeback')
        self.click('input[type="submit"]')
        self.until_true(
            lambda: self.specs() == {'rbd:cache_mode': 'writeback'}
        )
        self.check_quiet()

    def test_the_metadata_editor_offers_them_too(self) -> None:
        self.open('/admin/volume_types/')
        row = f'#volume_types__row__{self.type}'
        self.click(f'{row} .dropdown-toggle')
        self.click(f'[id$="row_{self.type}__action_update_metadata"]')
        self.until_true(
            lambda: 'RBD volume options' in self.text('.modal-content')
        )
        self.screenshot('metadata-editor')
