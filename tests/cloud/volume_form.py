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

"""The dashboard's volume forms, and what tests do with them."""

import pathlib

from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import select

from tests.cloud import browser

#: The group of options in the form.
GROUP = 'fieldset.rbd-volume-options'


class FormTestCase(browser.BrowserTestCase):
    """Has the Create Volume form at hand."""

    def setUp(self) -> None:
        super().setUp()
        self.login('demo')

    def open_form(self, query: str = '') -> None:
        """Open the form as a page of its own."""
        self.open(f'/project/volumes/create/{query}')
        self.find('#id_name')

    def open_modal(self) -> None:
        """Open the form as the table's button does, above the table."""
        self.open('/project/volumes/')
        self.click('#volumes__action_create')
        self.find('.modal #id_name')

    def pick(self, name: str, value: str) -> None:
        """Choose a value of one of Horizon's own lists."""
        themed = f'.themable-select:has(> select[name="{name}"])'
        self.click(f'{themed} button')

        def entry() -> WebElement | None:
            found = [
                each
                for each in self.all(f'{themed} a')
                if each.get_attribute('data-select-value') == value
            ]
            return found[0] if found else None

        element = self.until_true(entry)
        self.driver.execute_script(
            'arguments[0].scrollIntoView({block: "center"})', element
        )
        element.click()

    def choose_value(self, selector: str, value: str) -> None:
        """Choose the entry of a plain list that has a value."""
        select.Select(self.find(selector)).select_by_value(value)

    def submit(self) -> None:
        """Send the form."""
        self.click('.modal-footer input[type="submit"]')

    def named(self, name: str) -> str:
        """Wait for a volume of the tenant with a name; return its id."""

        def found() -> str | None:
            answer = self.request('GET', f'/volumes?name={name}')
            volumes = answer['volumes']
            return volumes[0]['id'] if volumes else None

        ident: str = self.until(found)
        self.addCleanup(self.remove, ident)
        self.wait_for(ident)
        return ident

    def whole_screenshot(self, name: str, selector: str) -> pathlib.Path:
        """Keep what an element looks like, however tall it is."""
        before = self.driver.get_window_size()
        element = self.find(selector)
        height = max(before['height'], element.size['height'] + 250)
        self.driver.set_window_size(before['width'], height)
        try:
            path = browser.screenshots() / f'{name}.png'
            self.find(selector).screenshot(str(path))
        finally:
            self.driver.set_window_size(before['width'], before['height'])
        return path

    def preview(self) -> str:
        """Return what the form says is going to be made."""
        return self.text('[data-rbd-preview]')

    def shown_group(self) -> WebElement:
        """Wait for the group of options; return it."""
        return self.find(GROUP)

    def make_type_named(self, name: str, **specs: str) -> None:
        """Make a volume type with a name, on the RBD back end."""
        given = {'volume_backend_name': 'rbd', **specs}
        body = {'volume_type': {'name': name, 'extra_specs': given}}
        made = self.request('POST', '/types', body, self.operator)
        path = f'/types/{made["volume_type"]["id"]}'
        self.addCleanup(self.operator.block_storage.delete, path)

    def force(self, selector: str, value: str) -> None:
        """Give a control a value that a person could not choose."""
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
        """Return the text that stands at a field and is tied to it."""
        text = self.text(f'#id_{field}_error')
        control = self.find(f'#id_{field}')
        self.assertIn(
            f'id_{field}_error',
            (control.get_attribute('aria-describedby') or '').split(),
        )
        self.assertEqual('true', control.get_attribute('aria-invalid'))
        return text
