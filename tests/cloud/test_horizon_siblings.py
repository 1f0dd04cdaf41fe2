# SPDX-License-Identifier: Apache-2.0

"""The dashboard's other forms that change or create volumes."""

import uuid

from tests import runs
from tests.cloud import base
from tests.cloud import volume_form

_NOTE = '[data-rbd-note]'


class AccessibleTest(volume_form.FormTestCase):
    """What the suite adds to forms, for all users."""

    def test_create_volume(self) -> None:
        def prepare() -> None:
            self.pick('type', 'rbd')
            self.shown_group()
            self.choose('#id_rbd_stripe_unit', '64 KiB')
            self.until_summary('× 8')

        self.check_everywhere(
            '/project/volumes/create/', volume_form.GROUP, prepare, 'create'
        )

    @runs.tags(runs.NIGHTLY)
    def test_of_a_volume(self) -> None:
        volume = self.created(metadata=base.ASKED)
        for page, selector, prepare in (
            # There is no text before a type is selected.
            (
                'retype/',
                _NOTE,
                lambda: self.pick('volume_type', 'fake'),
            ),
            (
                'attach/',
                '#id_rbd_cache_mode_row',
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


@runs.tags(runs.NIGHTLY)
class ChangeTypeTest(volume_form.FormTestCase):
    def test_what_a_type_does(self) -> None:
        name = f'striped-{uuid.uuid4().hex[:8]}'
        self.make_type_named(
            name, **{'rbd:stripe_unit': '64K', 'rbd:stripe_count': '8'}
        )
        volume = self.created(metadata={'rbd:cache_mode': 'writeback'})
        self.open(f'/project/volumes/{volume}/retype/')
        self.pick('volume_type', name)
        self.until_true(lambda: '64 KiB × 8' in self.text(_NOTE))
        # How long it takes, and how much room it needs.
        for words in ('copied to a new image', 'uses its space twice'):
            self.assertIn(words, self.text(_NOTE))
        self.whole_screenshot('change-type', 'form:has([data-rbd-note])')
        self.pick('volume_type', 'fake')
        self.until_true(lambda: 'removed from the volume' in self.text(_NOTE))
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
        self.until_summary('1 MiB objects')
        self.assertIn('objects of 1 MiB', self.preview())
        self.assertIn('objects', self.text('#id_rbd_object_size_hint'))
        self.screenshot('image-volume')
        self.click('.ng-wizard button.finish')
        self.assertEqual(2**20, self.info(self.named(name))['object_size'])

    @runs.tags(runs.NIGHTLY)
    def test_image_options_are_accessible(self) -> None:
        def prepare() -> None:
            self.open_image_step()
            self.shown_group()

        self.check_everywhere(
            '/project/images/', volume_form.GROUP, prepare, 'image'
        )
