# SPDX-License-Identifier: Apache-2.0

"""Test the Volume Layout step of the Launch Instance wizard."""

import uuid

from tests.cloud import browser
from tests.cloud import german

# The stock label refers to an ID that the field does not have.
_TYPE = 'select[ng-model="model.newInstanceSpec.vol_type"]'

#: The sandbox's default volume type.
_DEFAULT = 'rbd'


class LaunchTest(browser.BrowserTestCase):
    """The step for different volume types; no instance is launched."""

    def setUp(self) -> None:
        super().setUp()
        image = self.tenant.image.create_image(
            name=f'test-{uuid.uuid4().hex[:8]}',
            disk_format='raw',
            container_format='bare',
            data=b'\0' * 1024,
            wait=True,
        )
        self.addCleanup(self.tenant.image.delete_image, image.id)

    def step(self, title: str) -> None:
        """Go to a step of the wizard, also on a German page."""
        titles = (title, german.translations().get(title))

        def clicked() -> bool:
            for each in self.all('.ng-wizard .nav-item, .ng-wizard .nav a'):
                if each.text.strip().rstrip(' *') in titles:
                    each.click()
                    return True
            return False

        self.until_true(clicked)

    def opened(self) -> None:
        """Open the wizard."""
        self.login('demo')
        self.open('/project/instances/')
        self.open_wizard()

    def open_wizard(self) -> None:
        """Open the wizard from the list of instances."""
        self.click('#instances__action_launch-ng')
        self.step('Source')
        self.find('#boot-source-type')

    def layout(self) -> str:
        """Return the text of the step."""
        self.step('Volume Layout')
        self.until_true(lambda: self.text('.rbd-launch-layout').strip())
        if self.shown('.rbd-launch-layout details:not([open])'):
            self.click('.rbd-launch-layout summary')
        return self.text('.rbd-launch-layout')

    def test_what_the_type_of_a_new_volume_gives(self) -> None:
        name = self.make_type(
            rbd_object_size='1M',
            rbd_stripe_unit='64K',
            rbd_stripe_count='8',
            rbd_object_map='true',
            rbd_cache_mode='writeback',
        )
        self.opened()
        if not self.all(_TYPE):
            self.skipTest('this wizard has no choice of a volume type')
        self.choose(_TYPE, name)
        self.step('Volume Layout')
        self.until_true(lambda: name in self.text('.rbd-launch-layout'))
        self.assertIn(
            '1 MiB objects, 64 KiB × 8, object map (default)',
            self.text('.rbd-launch-layout summary'),
        )
        said = self.layout()
        for words in ('1 MiB', '64 KiB × 8', 'writeback'):
            self.assertIn(words, said)
        self.screenshot('launch-layout')
        # The step follows a change of the type.
        self.step('Source')
        self.choose(_TYPE, 'fake')
        self.step('Volume Layout')
        self.until_true(
            lambda: '64 KiB' not in self.text('.rbd-launch-layout')
        )
        # Stock Horizon's own request fails if Glance has no metadata
        # definitions of scheduler hints.
        self.check_quiet(but='/api/glance/metadefs/namespaces/')

    def test_the_default_type_where_none_was_chosen(self) -> None:
        self.opened()
        self.step('Volume Layout')
        self.until_true(lambda: _DEFAULT in self.text('.rbd-launch-layout'))
        said = self.layout()
        self.assertIn('Object size', said)
        self.assertNotIn('currently not available', said)

    def test_launch_wizard_is_accessible(self) -> None:
        def prepare() -> None:
            self.open_wizard()
            # The step says something else until a default source is set.
            self.until_true(
                lambda: (
                    self.layout() and self.shown('.rbd-launch-layout tbody th')
                )
            )

        self.login('demo')
        self.check_everywhere(
            '/project/instances/', '.rbd-launch-layout', prepare, 'launch'
        )

    def test_no_volume_no_layout(self) -> None:
        self.opened()

        def nothing_said() -> bool:
            # Repeat the choice: on 2025.1 the wizard sets its default late and
            # overwrites an earlier choice.
            self.step('Source')
            for each in self.all('#vol-create'):
                if each.text.strip() == 'No':
                    each.click()
            said = self.layout()
            no_volume = 'does not boot from a volume' in said
            return no_volume and 'Object size' not in said

        self.until(nothing_said)
