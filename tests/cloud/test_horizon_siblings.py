# SPDX-License-Identifier: Apache-2.0

"""The dashboard's other forms that change or create volumes."""

import uuid

from tests.cloud import base
from tests.cloud import volume_form


class AccessibleTest(volume_form.FormTestCase):
    """What the suite adds to forms, for all users."""

    def test_create_volume(self) -> None:
        def prepare() -> None:
            self.pick('type', 'rbd')
            self.shown_group()
            self.click('#id_rbd_choose_features')
            self.choose('#id_rbd_stripe_unit', '64 KiB')

        self.check_everywhere(
            '/project/volumes/create/', volume_form.GROUP, prepare, 'create'
        )

    def test_of_a_volume(self) -> None:
        volume = self.created(metadata=base.ASKED)
        for page, selector, prepare in (
            ('extend/', '[data-rbd-note]', lambda: None),
            # There is no text before a type is selected.
            (
                'retype/',
                '[data-rbd-note]',
                lambda: self.pick('volume_type', 'fake'),
            ),
            (
                'attach/',
                '[data-rbd-field="rbd_cache_mode"]',
                lambda: None,
            ),
            ('rbd_options/', '.modal-body', lambda: None),
            (
                '?tab=volume_details__rbd_volume_options',
                '#volume_details__rbd_volume_options',
                lambda: None,
            ),
        ):
            self.check_everywhere(
                f'/project/volumes/{volume}/{page}',
                selector,
                prepare,
                page.strip('/?').replace('tab=volume_', ''),
            )


class ExtendTest(volume_form.FormTestCase):
    def test_sizes_that_the_layout_allows(self) -> None:
        volume = self.created(
            size=3,
            metadata={'rbd:stripe_unit': '64K', 'rbd:stripe_count': '3'},
        )
        self.open(f'/project/volumes/{volume}/extend/')
        self.assertIn(
            'multiple of 3 GiB, such as 6 GiB', self.text('[data-rbd-note]')
        )
        self.fill('#id_new_size', '10')
        self.submit()
        self.assertIn('allowed: 9 or 12 GiB', self.text('.has-error'))
        self.check_focused('id_new_size')
        self.screenshot('extend-volume')
        self.check_quiet()


class NotesTest(volume_form.FormTestCase):
    def test_forms_without_fields(self) -> None:
        volume = self.created()
        words = 'keeps its RBD layout'
        self.check_everywhere(
            '/project/volumes/accept_transfer/',
            '[data-rbd-note]',
            lambda: self.assertIn(words, self.text('[data-rbd-note]')),
            'accept-transfer',
        )
        # Stock Horizon shows Restore Backup in a dialog only.
        for path, words in (
            (f'backups/{uuid.uuid4()}/restore', 'of the default volume type'),
            (f'volumes/{volume}/create_snapshot', 'inherits the RBD layout'),
            (f'volumes/{volume}/upload_to_image', 'the layout of its store'),
        ):
            status, text = self.fetch(f'/project/{path}/')
            self.assertEqual(200, status, path)
            self.assertIn('data-rbd-note', text, path)
            self.assertIn(words, ' '.join(text.split()), path)
        self.check_quiet()


class ChangeTypeTest(volume_form.FormTestCase):
    def test_what_a_type_does(self) -> None:
        name = f'striped-{uuid.uuid4().hex[:8]}'
        self.make_type_named(
            name, **{'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
        )
        volume = self.created(metadata={'rbd:cache_mode': 'writeback'})
        self.open(f'/project/volumes/{volume}/retype/')
        self.pick('volume_type', name)
        self.until_true(lambda: '64 KiB × 8' in self.text('[data-rbd-note]'))
        # How long it takes, and how much room it needs.
        for words in ('copied to a new image', 'uses its space twice'):
            self.assertIn(words, self.text('[data-rbd-note]'))
        self.whole_screenshot('change-type', 'form:has([data-rbd-note])')
        self.pick('volume_type', 'fake')
        self.until_true(
            lambda: 'removed from the volume' in self.text('[data-rbd-note]')
        )
        self.screenshot('change-type-removes')
        self.check_quiet()


class ImageTest(volume_form.FormTestCase):
    def test_step_with_options(self) -> None:
        name = f'of-image-{uuid.uuid4().hex[:8]}'
        self.open('/project/images/')
        self.open_image_step()
        self.find(volume_form.GROUP)
        self.click_text('.ng-wizard .nav-item a', 'Volume Details')
        self.fill('.ng-wizard input[name="name"]', name)
        self.click_text('.ng-wizard .nav-item a', 'RBD Volume Options')
        self.shown_group()
        self.choose('#id_rbd_object_size', '1 MiB')
        self.assertIn('objects of 1 MiB', self.preview())
        self.assertIn('objects', self.text('#id_rbd_object_size_hint'))
        self.screenshot('image-volume')
        self.click('.ng-wizard button.finish')
        self.assertEqual(2**20, self.info(self.named(name))['object_size'])

    def test_image_options_are_accessible(self) -> None:
        def prepare() -> None:
            self.open_image_step()
            self.shown_group()
            self.click('#id_rbd_choose_features')

        self.check_everywhere(
            '/project/images/', '.rbd-image-options', prepare, 'image'
        )
