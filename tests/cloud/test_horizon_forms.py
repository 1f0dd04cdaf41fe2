# SPDX-License-Identifier: Apache-2.0

"""The volume forms of the dashboard, as a tenant uses them."""

from typing import Any
import uuid

from selenium.webdriver.common import keys

from tests import runs
from tests.cloud import base
from tests.cloud import volume_form


class CreateTest(volume_form.FormTestCase):
    @runs.tags(runs.RELEASES)
    def test_striped_volume(self) -> None:
        name = f'striped-{uuid.uuid4().hex[:8]}'
        self.open_modal()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.fill('#id_size', '2')
        self.shown_group()
        self.choose('#id_rbd_object_size', '1 MiB')
        self.until_summary('1 MiB objects')
        # A unit proposes a count.
        self.choose('#id_rbd_stripe_unit', '64 KiB')
        self.until_summary('64 KiB × 8')
        self.assertFalse(self.shown(f'{volume_form.GROUP} [role="alert"]'))
        self.choose('#id_rbd_object_map', 'Yes')
        self.assertIn(
            '1 MiB objects, 64 KiB × 8, object map (selected)',
            self.until_summary('(selected)'),
        )
        self.assertEqual('2 GiB = 2,048 objects of 1 MiB', self.preview())
        self.whole_screenshot('create-volume', '.modal-content')
        self.submit()
        volume = self.named(name)
        self.check_made(volume)
        metadata: Any = {
            'rbd:object_size': '1M',
            'rbd:stripe_unit': '64K',
            'rbd:stripe_count': '8',
            'rbd:object_map': 'true',
        }
        self.assertEqual(metadata, self.metadata(volume))
        self.open(
            f'/project/volumes/{volume}/'
            '?tab=volume_details__rbd_volume_options'
        )
        shown = self.text('#volume_details__rbd_volume_options')
        self.screenshot('volume-details')
        for words in ('1 MiB', '64 KiB', '8', 'up to 2,048', 'object-map'):
            self.assertIn(words, shown)
        self.check_quiet()

    def test_plain_volume(self) -> None:
        name = f'plain-{uuid.uuid4().hex[:8]}'
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        group = self.find(volume_form.GROUP)
        # Two lines for those who do not want options.
        self.assertLess(group.size['height'], 70)
        self.assertIn('4 MiB objects, object map (default)', group.text)
        # What is closed needs no reading.
        self.assertFalse(self.shown(f'{volume_form.GROUP} select'))
        # Only a list item has the marker of a disclosure.
        summary = self.find('#rbd_summary')
        self.assertEqual('list-item', summary.value_of_css_property('display'))
        self.whole_screenshot(
            'create-volume-short', f'form:has({volume_form.GROUP})'
        )
        self.shown_group()
        default = self.text('#id_rbd_object_size option[value=""]')
        self.submit()
        volume = self.named(name)
        self.assertEqual({}, self.metadata(volume))
        # The details repeat what the form said about the value.
        self.assertEqual('Default: 4 MiB (set by the back end)', default)
        self.open(
            f'/project/volumes/{volume}/'
            '?tab=volume_details__rbd_volume_options'
        )
        shown = self.text('#volume_details__rbd_volume_options')
        for words in ('4 MiB', 'set by the back end'):
            self.assertIn(words, shown)

    @runs.tags(runs.NIGHTLY)
    def test_by_keyboard_and_by_name(self) -> None:
        self.open_form()
        self.pick('type', 'rbd')
        self.shown_group()
        self.find('#id_size').send_keys('')
        reached = []
        for _ in range(14):
            self.driver.switch_to.active_element.send_keys(keys.Keys.TAB)
            focused = self.driver.switch_to.active_element
            reached.append(focused.get_attribute('name'))
            label = self.driver.execute_script(
                'return (arguments[0].labels || []).length', focused
            )
            name = str(reached[-1])
            if name.startswith('rbd_'):
                self.assertEqual(1, label, name)
                for ident in (
                    focused.get_attribute('aria-describedby') or ''
                ).split():
                    self.find(f'#{ident}')
        self.assertEqual(
            [
                'rbd_object_size',
                'rbd_stripe_unit',
                'rbd_stripe_count',
                'rbd_object_map',
            ],
            [name for name in reached if str(name).startswith('rbd_')][1:5],
        )


class TableTest(volume_form.FormTestCase):
    def test_layout_and_cache_mode_in_the_row(self) -> None:
        volume = self.created(
            name='seen in the dashboard', metadata=base.ASKED
        )
        self.open('/project/volumes/')
        row = f'[id="volumes__row__{volume}"]'
        self.find(row)
        self.assertFalse(self.shown('td.rbd-layout'))
        # The table fits into the window.
        self.assertLessEqual(
            self.driver.execute_script(
                'return document.querySelector("#volumes").scrollWidth'
                ' - document.querySelector(".table_wrapper").clientWidth'
            ),
            0,
        )
        self.click(f'{row} .dropdown-toggle')
        self.click(f'{row} [id$="action_rbd_options"]')
        self.find('.modal #id_rbd_cache_mode')
        self.choose_value('#id_rbd_cache_mode', 'writeback')
        self.whole_screenshot('change-options', '.modal-content')
        self.submit()
        metadata = {**base.ASKED, 'rbd:cache_mode': 'writeback'}
        self.until_true(lambda: self.metadata(volume) == metadata)
        self.open(
            f'/project/volumes/{volume}/'
            '?tab=volume_details__rbd_volume_options'
        )
        tab = '#volume_details__rbd_volume_options'
        shown = self.text(tab)
        self.assertIn('64 KiB × 8 requested for this volume', shown)
        self.assertIn('writeback requested for this volume', shown)
        self.check_accessible(tab)
