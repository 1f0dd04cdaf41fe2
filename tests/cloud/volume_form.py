# SPDX-License-Identifier: Apache-2.0

"""Base class for tests of the dashboard's volume forms."""

import pathlib

from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import select

from tests.cloud import browser
from tests.cloud import german
from tests.cloud import pictures

#: The fieldset of the options in the form.
GROUP = 'fieldset.rbd-group'
_SUBMIT = '.modal-footer input[type="submit"]'


class FormTestCase(browser.BrowserTestCase):
    """Base class for tests of the Create Volume form."""

    def setUp(self) -> None:
        super().setUp()
        self.login('demo')

    def open_form(self, query: str = '') -> None:
        """Open the form as a separate page."""
        self.open(f'/project/volumes/create/{query}')
        self.find('#id_name')

    def open_modal(self) -> None:
        """Open the form as a dialog above the table."""
        self.open('/project/volumes/')
        self.click('#volumes__action_create')
        self.find('.modal #id_name')

    def open_dialog(self, form: str) -> None:
        """Open a form as a dialog, with its link in the table."""
        link = f'a.ajax-modal[href^="{form}"]'
        if not self.shown(link):
            self.click(f'tr:has({link}) .dropdown-toggle')
        self.click(link)
        self.find('.modal.in form')

    def open_image_step(self) -> None:
        """Open the step with our options, for a volume of the image tiny."""
        image = self.tenant.image.find_image('tiny', ignore_missing=False)
        row = f'tr:has(a[href*="{image.id}"])'
        self.click(f'{row} .dropdown-toggle, {row} .split-caret')
        self.click_text('a', 'Create Volume')
        self.find('.ng-wizard input[name="name"]')
        self.click_text('.ng-wizard .nav-item a', 'RBD Volume Options')
        self.find(GROUP)

    def click_text(self, selector: str, text: str) -> None:
        """Click the element with a given text, also on a German page."""
        texts = (text, german.translations().get(text))

        def clicked() -> bool:
            for each in self.all(selector):
                if each.is_displayed() and each.text.strip(' *') in texts:
                    each.click()
                    return True
            return False

        self.until_true(clicked)

    def pick(self, name: str, value: str) -> None:
        """Choose a value in a themed Horizon list."""
        themed = f'.themable-select:has(> select[name="{name}"])'
        self.click(f'{themed} button')

        def entry() -> WebElement | None:
            entries = [
                each
                for each in self.all(f'{themed} a')
                if each.get_attribute('data-select-value') == value
            ]
            return entries[0] if entries else None

        element = self.until_true(entry)
        self.driver.execute_script(
            'arguments[0].scrollIntoView({block: "center"})', element
        )
        element.click()

    def choose_value(self, selector: str, value: str) -> None:
        """Choose a value in a plain list."""
        select.Select(self.find(selector)).select_by_value(value)

    def submit(self) -> None:
        """Submit the form."""
        self.click(_SUBMIT)

    def submit_again(self) -> None:
        """Submit a form that is a separate page; wait for the next page."""
        self.submit_page(_SUBMIT)

    def named(self, name: str) -> str:
        """Wait for the tenant's volume with a name; return its ID."""

        def found() -> str | None:
            answer = self.request('GET', f'/volumes?name={name}')
            volumes = answer['volumes']
            return volumes[0]['id'] if volumes else None

        ident: str = self.until(found)
        self.addCleanup(self.remove, ident)
        self.wait_for(ident)
        return ident

    def whole_screenshot(self, name: str, selector: str) -> pathlib.Path:
        """Save a screenshot of a whole element."""
        return pictures.of_element(self, name, selector)

    def preview(self) -> str:
        """Return the form's preview of the volume."""
        return self.text('#rbd_preview')

    def shown_group(self) -> WebElement:
        """Wait for the group, select custom values and return the group."""
        group = self.find(GROUP)
        details = f'{GROUP} details.rbd-volume-options'
        self.until_summary('')
        if not self.shown(f'{details}[open]'):
            self.click(f'{details} > summary')
        self.click(f'{GROUP} [name="rbd_choice"][value="custom"]')
        self.find('#rbd_preview')
        return group

    def until_summary(self, words: str) -> str:
        """Wait until the closed line of the group has a text; return it."""
        summary = f'{GROUP} #rbd_summary'
        self.until_true(lambda: words in self.text(summary))
        return self.text(summary)

    def make_type_named(self, name: str, **specs: str) -> None:
        """Create a volume type on the RBD back end."""
        extra_specs = {'volume_backend_name': 'rbd', **specs}
        body = {'volume_type': {'name': name, 'extra_specs': extra_specs}}
        made = self.request('POST', '/types', body, self.operator)
        path = f'/types/{made["volume_type"]["id"]}'
        self.addCleanup(self.operator.block_storage.delete, path)

    def force(self, selector: str, value: str) -> None:
        """Set a value that a user cannot choose in a control."""
        self.driver.execute_script(
            """
            const field = document.querySelector(arguments[0]);
            if (field.tagName === 'SELECT') {
                field.add(new Option(arguments[1], arguments[1]));
                field.selectedIndex = field.options.length - 1;
            } else {
                field.value = arguments[1];
            }
            field.form.noValidate = true;
            """,
            selector,
            value,
        )

    def error_of(self, field: str) -> str:
        """Return the error at a field; check that ARIA links them."""
        text = self.text(f'#id_{field}_error')
        control = self.find(f'#id_{field}')
        self.assertIn(
            f'id_{field}_error',
            (control.get_attribute('aria-describedby') or '').split(),
        )
        self.assertEqual('true', control.get_attribute('aria-invalid'))
        return text

    def check_focused(self, ident: str) -> None:
        """Check that a control has the focus and is inside the window."""

        def there() -> bool:
            return bool(
                self.driver.execute_script(
                    """
                    const field = document.getElementById(arguments[0]);
                    const place = field.getBoundingClientRect();
                    return field === document.activeElement &&
                        place.top >= 0 && place.bottom <= innerHeight;
                    """,
                    ident,
                )
            )

        self.until_true(there)
