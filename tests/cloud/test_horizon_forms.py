# SPDX-License-Identifier: Apache-2.0

"""The volume forms of the dashboard, as a tenant uses them."""

from typing import Any
import uuid

from selenium.webdriver.common import keys
from selenium.webdriver.remote.webelement import WebElement

from tests.cloud import base
from tests.cloud import volume_form


class CreateTest(volume_form.FormTestCase):
    def test_striped_volume(self) -> None:
        name = f'striped-{uuid.uuid4().hex[:8]}'
        self.open_modal()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.fill('#id_size', '2')
        self.shown_group()
        self.choose('#id_rbd_object_size', '1 MiB')
        # A count without a unit is wrong when the user has left both.
        self.fill('#id_rbd_stripe_count', '4')
        self.assertFalse(self.shown('#id_rbd_stripe_unit_error'))
        self.click('#id_name')
        self.assertIn('set together', self.error_of('rbd_stripe_unit'))
        self.find('#id_rbd_stripe_count').clear()
        # A unit proposes a count.
        self.choose('#id_rbd_stripe_unit', '64 KiB')
        self.assertFalse(self.shown(f'{volume_form.GROUP} [role="alert"]'))
        self.choose('#id_rbd_object_map', 'Yes')
        self.assertEqual(
            '2 GiB = 2,048 objects of 1 MiB, 64 KiB × 8, with object map',
            self.preview(),
        )
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
        # Only a list item has the marker of a disclosure.
        summary = self.find(f'{volume_form.GROUP} summary')
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
        self.assertIn(
            default.removeprefix('Default: '),
            self.text('#volume_details__rbd_volume_options'),
        )

    def test_only_for_types_that_offer_options(self) -> None:
        self.open_form()
        self.pick('type', 'rbd')
        self.shown_group()
        self.pick('type', 'fake')
        self.until_gone(volume_form.GROUP)
        self.pick('type', 'rbd')
        self.choose('#id_rbd_object_size', '1 MiB')
        # A value that was chosen stays until the user removes it.
        self.pick('type', 'fake')
        self.assertIn(
            'Select the default', self.text('#id_rbd_object_size_error')
        )
        name = f'fake-{uuid.uuid4().hex[:8]}'
        self.fill('#id_name', name)
        self.submit()
        self.assertIn('no back end', self.error_of('rbd_object_size'))
        self.choose_value('#id_rbd_object_size', '')
        self.submit()
        self.assertEqual({}, self.metadata(self.named(name)))

    def test_whatever_a_type_is_called(self) -> None:
        mark = uuid.uuid4().hex[:6]
        quoted = f'SSD "fast" & \'safe\' {mark}'
        names = [quoted, f'Ümlaut 漢字 {mark}', f'{mark:x<255}']
        for name in names:
            self.make_type_named(name, **{'rbd:object_size': '8M'})
        self.open_form()
        for name in names:
            self.pick('type', 'fake')
            self.until_gone(volume_form.GROUP)
            self.pick('type', name)
            self.shown_group()
            self.assertIn('objects of 8 MiB', self.preview())
        self.pick('type', quoted)
        self.fill('#id_name', f'quoted-{mark}')
        self.choose('#id_rbd_object_size', '1 MiB')
        self.submit()
        info = self.info(self.named(f'quoted-{mark}'))
        self.assertEqual(2**20, info['object_size'])

    def test_features_and_what_they_require(self) -> None:
        name = f'features-{uuid.uuid4().hex[:8]}'
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        self.assertFalse(self.shown('input[name="rbd_features"]'))
        self.click('#id_rbd_choose_features')
        # A full set of features also determines the object map.
        self.until_gone('#id_rbd_object_map')

        def box(feature: str) -> WebElement:
            return self.find(f'input[value="{feature}"]')

        def tick(feature: str, wanted: bool) -> None:
            if box(feature).is_selected() is not wanted:
                self.click(f'input[value="{feature}"]')

        self.assertTrue(box('layering').is_selected())
        self.assertFalse(box('layering').is_enabled())
        tick('exclusive-lock', False)
        for feature in ('object-map', 'fast-diff', 'journaling'):
            self.assertFalse(box(feature).is_enabled(), feature)
            self.assertFalse(box(feature).is_selected(), feature)
        self.assertIn(
            'Requires exclusive-lock.',
            self.text('.checkbox:has(input[value="object-map"])'),
        )
        tick('exclusive-lock', True)
        self.assertTrue(box('object-map').is_enabled())
        tick('object-map', True)
        self.assertTrue(box('fast-diff').is_selected())
        self.assertIn('with object map', self.preview())
        tick('deep-flatten', False)
        # Select another type and return.
        self.pick('type', 'fake')
        self.find('#id_rbd_features_error')
        self.pick('type', 'rbd')
        self.until_gone('#id_rbd_features_error')
        self.assertFalse(box('deep-flatten').is_selected())
        self.screenshot('features')
        self.submit()
        self.assertEqual(
            ['exclusive-lock', 'fast-diff', 'layering', 'object-map'],
            sorted(self.info(self.named(name))['features']),
        )

    def test_source_says_what_it_has(self) -> None:
        source = self.created(metadata=dict(base.ASKED), name='a source')
        self.open_form()
        self.pick('volume_source_type', 'volume_source')
        self.until_gone(volume_form.GROUP)
        self.pick('volume_source', source)
        self.shown_group()
        text = self.text('[data-rbd-source]')
        self.assertIn('objects of 1 MiB, 64 KiB × 8', text)
        self.assertIn('64 KiB × 8', self.preview())
        name = f'clone-{uuid.uuid4().hex[:8]}'
        self.fill('#id_name', name)
        self.choose('#id_rbd_object_size', '2 MiB')
        self.submit()
        info = self.info(self.named(name))
        self.assertEqual(
            (2**21, 65536, 8),
            (info['object_size'], info['stripe_unit'], info['stripe_count']),
        )

    def test_snapshot_as_source(self) -> None:
        volume = self.created(metadata=dict(base.ASKED))
        snapshot = self.snapshot(volume)
        self.open_form()
        self.pick('volume_source_type', 'snapshot_source')
        self.until_gone(volume_form.GROUP)
        self.pick('snapshot_source', snapshot)
        self.shown_group()
        self.assertIn(
            'objects of 1 MiB, 64 KiB × 8', self.text('[data-rbd-source]')
        )
        name = f'clone-{uuid.uuid4().hex[:8]}'
        self.fill('#id_name', name)
        self.submit()
        info = self.info(self.named(name))
        self.assertEqual(
            (2**20, 65536, 8),
            (info['object_size'], info['stripe_unit'], info['stripe_count']),
        )

    def test_image_as_source(self) -> None:
        image = self.tenant.image.find_image('tiny', ignore_missing=False)
        self.open_form()
        self.pick('volume_source_type', 'image_source')
        self.pick('image_source', image.id)
        self.pick('type', 'rbd')
        self.shown_group()
        self.assertIn(
            'Set by the image: Stripe unit', self.text('[data-rbd-source]')
        )
        name = f'image-{uuid.uuid4().hex[:8]}'
        self.fill('#id_name', name)
        self.choose('#id_rbd_object_size', '1 MiB')
        self.submit()
        self.assertEqual(2**20, self.info(self.named(name))['object_size'])

    def test_by_keyboard_and_by_name(self) -> None:
        self.open_form()
        self.pick('type', 'rbd')
        self.shown_group()
        self.find('#id_size').send_keys('')
        reached = []
        for _ in range(13):
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
                'rbd_choose_features',
            ],
            [name for name in reached if str(name).startswith('rbd_')],
        )


class TableTest(volume_form.FormTestCase):
    def check_whole_words(self, selector: str) -> None:
        """Check that no word of an element's text is on two lines."""
        self.find(selector)
        broken = self.driver.execute_script(
            """
            const text = document.querySelector(arguments[0]).firstChild;
            const broken = [];
            for (const found of text.data.matchAll(/\\S+/g)) {
              const range = document.createRange();
              range.setStart(text, found.index);
              range.setEnd(text, found.index + found[0].length);
              if (range.getClientRects().length !== 1) {
                broken.push(found[0]);
              }
            }
            return broken;
            """,
            selector,
        )
        self.assertEqual([], broken)

    def test_layout_and_cache_mode_in_the_row(self) -> None:
        volume = self.created(
            name='seen in the dashboard', metadata=base.ASKED
        )
        self.open('/project/volumes/')
        row = f'[id="volumes__row__{volume}"]'
        self.assertIn('64 KiB × 8', self.text(row))
        self.check_whole_words(f'{row} td.multi_select_column + td a')
        self.whole_screenshot('volumes', '.table_wrapper')
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
        self.assertIn('64 KiB (requested for this volume)', shown)
        self.assertIn('writeback (requested for this volume)', shown)
        self.check_accessible(tab)
