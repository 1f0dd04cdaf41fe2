# SPDX-License-Identifier: Apache-2.0

"""The operator's pages in the dashboard."""

import subprocess
import uuid

from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support import select

from sandbox_cloud import state
from tests import runs
from tests.cloud import base
from tests.cloud import browser
from tests.cloud import pictures
from tests.cloud import test_audit
from tests.cloud import themes

_PANEL = '/admin/rbd_images/'


class ImagesTest(browser.BrowserTestCase):
    """Tests for the *RBD Images* panel."""

    def row(self, volume: str) -> dict[str, str]:
        """Return the cells of a volume, keyed by column heading."""
        heads = [each.text for each in self.all('#rbd-images-list thead th')]
        cells = self.all(f'tr[data-volume="{volume}"] > *')
        return dict(zip(heads, (each.text for each in cells), strict=True))

    def read_again(self) -> None:
        """Press the refresh button and wait for the new list."""
        # The displayed time may stay the same within a second.
        before = self.find('.rbd-images-taken')
        self.click('button[name="refresh"]')
        gone = expected_conditions.staleness_of(before)
        self.until_true(lambda: gone(self.driver))
        # The tables follow the time, and Chromium shows partial pages.
        self.until_loaded()
        self.find('.rbd-images-taken')

    def check_fits(self) -> None:
        """Check that the list does not scroll sideways."""
        room = self.driver.execute_script(
            "const list = document.querySelector('#rbd-images-list');"
            'return [list.scrollWidth, list.parentElement.clientWidth];'
        )
        self.assertLessEqual(*room)

    def audited(self, other: str) -> None:
        """Store a report for the panel, with findings.

        A volume has an option of Ceph, and there is an image without a volume.
        """
        option = ['rbd_readahead_max_bytes', '0']
        spec = f'volumes/volume-{other}'
        subprocess.run(
            ['rbd', 'config', 'image', 'set', spec, *option], check=True
        )
        orphan = f'volumes/volume-{uuid.uuid4()}'
        subprocess.run(['rbd', 'create', '--size', '1', orphan], check=True)
        self.addCleanup(
            subprocess.run, ['rbd', 'rm', '--no-progress', orphan], check=True
        )
        report = state.State(state.default_root()).run / 'rbd-audit.json'
        self.addCleanup(report.unlink)
        test_audit.run(self, '--output', str(report))

    @runs.tags(runs.RELEASES)
    def test_list_of_images(self) -> None:
        name = self.make_type()
        without = {'rbd:features': 'layering,exclusive-lock'}
        # Any tenant can give a volume such a name.
        long = 'x' * 200
        striped, _mapped, bare = (
            self.created(volume_type=name, metadata=metadata, name=named)
            for metadata, named in (
                (base.ASKED, long),
                ({'rbd:object_map': 'true'}, 'mapped'),
                (without, 'bare'),
            )
        )
        other = self.created(volume_type='fake')
        self.audited(bare)
        self.login('admin')
        self.open(_PANEL)
        self.read_again()
        self.open(f'{_PANEL}?type={name}')
        self.assertIn('1 to 3 of 3', self.text('#rbd-images-shown'))
        self.assertFalse(self.all(f'tr[data-volume="{other}"]'))
        cells = self.row(striped)
        self.assertEqual('1 MiB objects, 64 KiB × 8', cells['Layout'])
        self.assertEqual('valid', cells['Object Map'])
        cell = self.find(f'tr[data-volume="{striped}"] th')
        self.assertLess(cell.size['width'], 400)
        self.check_fits()
        self.assertEqual(
            long, self.find(f'a[title="{long}"]').get_attribute('title')
        )
        self.assertEqual(name, cells['Volume Type'])
        self.assertIn('#', cells['Pool of Cinder'])
        self.assertEqual('none', self.row(bare)['Object Map'])
        # No image of the selection has one.
        self.assertNotIn('Data Pool of Ceph', self.row(bare))
        page = self.text('.rbd-images')
        self.assertIn('configuration-override', page)
        self.assertIn('orphan-volume', page)
        link = self.find(f'tr[data-volume="{striped}"] th a')
        self.assertIn(striped, link.get_attribute('href') or '')
        self.assertIn('64 KiB × 8', self.text('#layouts'))
        drawn = self.text('.rbd-images-chart')
        self.assertIn(name, drawn)
        self.assertIn('1 none', drawn)
        self.check_accessible('.rbd-images')
        pictures.of_element(self, 'rbd-images', '.rbd-images', 1700)
        self.check_quiet()
        self.narrow()
        self.screenshot('rbd-images-narrow')
        self.check_accessible('.rbd-images')
        self.cookie('theme', 'material')
        self.open(f'{_PANEL}?type={name}')
        themes.use(self.driver, 'material')
        self.check_accessible('.rbd-images')
        self.screenshot('rbd-images-material')

    @runs.tags(runs.NIGHTLY)
    def test_list_is_kept_until_read_again(self) -> None:
        name = self.make_type()
        self.login('admin')
        self.open(_PANEL)
        self.read_again()
        taken = self.text('.rbd-images-taken')
        self.created(volume_type=name)
        self.open(_PANEL)
        self.assertEqual(taken, self.text('.rbd-images-taken'))
        self.assertNotIn(name, self.text('.rbd-images'))
        self.read_again()
        self.assertIn(name, self.text('.rbd-images-chart'))

    @runs.tags(runs.NIGHTLY)
    def test_in_german(self) -> None:
        name = self.make_type()
        volume = self.created(volume_type=name)
        self.login('admin')
        # The browser keeps the texts of the scripts in English.
        self.open('/project/volumes/create/')
        self.cookie('horizon_language', 'de')
        self.open(_PANEL)
        self.click('button[name="refresh"]')
        self.open(f'{_PANEL}?type={name}')
        self.assertEqual(
            '1 bis 1 von 1 Abbildern', self.text('#rbd-images-shown')
        )
        self.assertIn('Layout', self.row(volume))
        self.check_german('.rbd-images')
        self.check_fits()
        self.screenshot('rbd-images-german')

    @runs.tags(runs.NIGHTLY)
    def test_tenants_have_no_such_panel(self) -> None:
        self.login('demo')
        self.open(_PANEL)
        self.until_true(lambda: 'not authorized' in self.text('body'))
        self.assertFalse(self.shown('.rbd-images'))


class ManageTest(browser.BrowserTestCase):
    def test_keys_that_are_refused(self) -> None:
        self.login('admin')
        self.open('/admin/volumes/manage/')
        self.assertIn('keeps its layout', self.text('[data-rbd-note]'))
        name = f'no-such-image-{uuid.uuid4().hex[:8]}'
        host = 'sandbox@rbd#rbd'
        keys = 'rbd:object_size=3M'
        for field, value in (
            ('identifier', name),
            ('host', host),
            ('metadata', keys),
        ):
            self.fill(f'#id_{field}', value)
        self.submit_page('.modal-footer input[type="submit"]')
        self.assertIn('a power of two', self.text('.has-error'))
        for field, value in (('identifier', name), ('metadata', keys)):
            kept = self.find(f'#id_{field}').get_property('value')
            self.assertEqual(value, kept)
        self.screenshot('manage-refused')
        self.check_quiet()

    @runs.tags(runs.NIGHTLY)
    def test_form_is_accessible(self) -> None:
        self.login('admin')
        self.check_everywhere(
            '/admin/volumes/manage/',
            '[data-rbd-note]',
            lambda: None,
            'manage',
        )


class TypeOptionsTest(browser.BrowserTestCase):
    """Tests for the form *RBD Options* of volume types."""

    def setUp(self) -> None:
        super().setUp()
        self.name = self.make_type()
        answer = self.request('GET', '/types', cloud=self.operator)
        (self.type,) = (
            each['id']
            for each in answer['volume_types']
            if each['name'] == self.name
        )
        self.page = f'/admin/volume_types/{self.type}/rbd_options/'
        self.login('admin')

    def specs(self) -> dict[str, str]:
        """Return the extra specs that begin with ``rbd:``."""
        path = f'/types/{self.type}/extra_specs'
        specs = self.request('GET', path, cloud=self.operator)['extra_specs']
        return {k: v for k, v in specs.items() if k.startswith('rbd:')}

    def open_form(self) -> None:
        """Open the form from the table of volume types."""
        self.open('/admin/volume_types/')
        row = f'#volume_types__row__{self.type}'
        self.click(f'{row} .dropdown-toggle')
        self.click(f'[id$="row_{self.type}__action_rbd_options"]')
        self.find('.modal.in #id_rbd_object_size')

    def submit(self) -> None:
        self.click('input[type="submit"]')

    def refusal(self, field: str) -> str:
        """Return the error message at a field."""
        return self.text(f'#id_rbd_{field}_error')

    def until_pools_are_known(self) -> None:
        """Wait until the back end has reported its data pools."""

        def reported() -> bool:
            path = f'/os-rbd-volume-options/{self.type}'
            answer = self.request('GET', path, cloud=self.operator)
            pool = answer['volume_type']['options']['rbd:data_pool']
            return bool(pool['candidates'])

        self.until(reported)

    @runs.tags(runs.RELEASES)
    def test_all_options_are_saved_together(self) -> None:
        self.until_pools_are_known()
        self.open_form()
        self.fill('#id_rbd_object_size', '3M')
        self.submit()
        self.assertIn('a power of two', self.refusal('object_size'))
        active = 'return document.activeElement.id'
        self.until_true(
            lambda: self.driver.execute_script(active) == 'id_rbd_object_size'
        )
        self.fill('#id_rbd_object_size', '1M')
        self.fill('#id_rbd_stripe_unit', '64K')
        # Valid for librbd, but not allowed by the type's back ends.
        self.fill('#id_rbd_stripe_count', '100000')
        for box in ('layering', 'exclusive-lock', 'object-map'):
            self.click(f'#id_rbd_features [value="{box}"]')
        for box in ('rbd:limits', 'rbd:object_map'):
            self.click(f'#id_rbd_tenant_options [value="{box}"]')
        pools = select.Select(self.find('#id_rbd_data_pool'))
        names = [option.text for option in pools.options]
        self.assertIn('volumes-data', names)
        self.assertNotIn('volumes', names)
        pools.select_by_visible_text('volumes-data')
        self.submit()
        self.assertIn('1 to 64', self.refusal('stripe_count'))
        self.assertEqual({}, self.specs())
        self.screenshot('type-options-refused')
        self.fill('#id_rbd_stripe_count', '8')
        self.submit()
        saved = {
            'rbd:object_size': '1M',
            'rbd:stripe_unit': '64K',
            'rbd:stripe_count': '8',
            'rbd:features': 'layering,exclusive-lock,object-map',
            'rbd:tenant_options': 'rbd:limits,rbd:object_map',
            'rbd:data_pool': 'volumes-data',
        }
        self.until_true(lambda: self.specs() == saved)
        self.open_form()
        self.screenshot('type-options')
        self.click('#id_rbd_features [value="object-map"]')
        for field in ('stripe_unit', 'stripe_count'):
            self.find(f'#id_rbd_{field}').clear()
        self.submit()
        del saved['rbd:stripe_unit'], saved['rbd:stripe_count']
        saved['rbd:features'] = 'layering,exclusive-lock'
        self.until_true(lambda: self.specs() == saved)
        self.check_quiet()

    @runs.tags(runs.NIGHTLY)
    def test_form_is_accessible(self) -> None:
        self.until_pools_are_known()
        self.check_everywhere(
            self.page,
            'form:has(#id_rbd_object_size) fieldset',
            lambda: self.click('.rbd-volume-options summary'),
            'type-options',
        )

    @runs.tags(runs.NIGHTLY)
    def test_the_metadata_editor_offers_them_too(self) -> None:
        self.open('/admin/volume_types/')
        row = f'#volume_types__row__{self.type}'
        self.click(f'{row} .dropdown-toggle')
        self.click(f'[id$="row_{self.type}__action_update_metadata"]')
        self.until_true(
            lambda: 'RBD volume options' in self.text('.modal-content')
        )
        self.screenshot('metadata-editor')
