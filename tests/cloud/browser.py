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

"""Tests of pages in a real browser, a headless Chromium.

One browser serves all tests of a process. It can reach nothing but this
machine, and what each page asks for and complains of is kept.
"""

import atexit
from collections.abc import Callable
import functools
import json
import logging
import os
import pathlib
import shutil
import tempfile
from typing import Any

from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.chrome import service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import select
from selenium.webdriver.support import wait
from testtools import content

from tests.cloud import base

DASHBOARD = 'http://127.0.0.1:8000'

# Taken before any test, whose own temporary folder goes with it.
_OUTSIDE = tempfile.gettempdir()
_ARGUMENTS = (
    '--headless=new',
    # Chromium's own sandbox doesn't work for root, nor in most containers.
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    '--window-size=1280,1000',
    '--lang=en',
    # What it would tell its maker, or fetch from there.
    '--disable-background-networking',
    '--disable-component-update',
    '--no-proxy-server',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
)
# A wizard of ten requests on a machine that is busy with something else.
_PATIENCE = 60.0
# A page asks for a row in transition until there is none: of a volume that an
# earlier test deletes. The browser calls that answer, a 404, an error.
_ROW_IS_GONE = '?action=row_update&'


def screenshots() -> pathlib.Path:
    """Return the folder that screenshots are kept in."""
    chosen = os.environ.get('RBD_TEST_SCREENSHOTS')
    folder = pathlib.Path(chosen or pathlib.Path(_OUTSIDE, 'screenshots'))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Session:
    """A browser, and who is logged in with it."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(dir=_OUTSIDE)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = '/usr/bin/chromium'
        for argument in (*_ARGUMENTS, f'--user-data-dir={folder}/profile'):
            options.add_argument(argument)
        wanted = {'browser': 'ALL', 'performance': 'ALL'}
        options.set_capability('goog:loggingPrefs', wanted)
        # A home that outlives the test that happens to be first.
        environ = {**os.environ, 'HOME': folder, 'TMPDIR': folder}
        self.driver = webdriver.Chrome(
            options, service.Service('/usr/bin/chromedriver', env=environ)
        )
        atexit.register(self.driver.quit)
        self.user: str | None = None


@functools.cache
def session() -> Session:
    """Return the browser of this process."""
    return Session()


class BrowserTestCase(base.CloudTestCase):
    """Looks at the dashboard; keeps a screenshot of what failed."""

    def setUp(self) -> None:
        super().setUp()
        # Each look at an element would be several lines of a failure.
        for name in ('selenium', 'urllib3'):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.session = session()
        self.driver = self.session.driver
        self.addOnException(self._keep_what_is_seen)
        self._read_logs()

    def _keep_what_is_seen(self, _: Any) -> None:
        path = self.screenshot(f'failed-{self.id().rpartition(".")[2]}')
        self.addDetail('screenshot', content.text_content(str(path)))
        self.addDetail(
            'address', content.text_content(self.driver.current_url)
        )

    def screenshot(self, name: str) -> pathlib.Path:
        """Keep what the browser shows."""
        path = screenshots() / f'{name}.png'
        self.driver.save_screenshot(str(path))
        return path

    # Where to be.

    def login(self, user: str) -> None:
        """Be a user of clouds.yaml: ``demo`` or ``admin``."""
        if self.session.user == user:
            return
        self.driver.delete_all_cookies()
        self.session.user = None
        self.open('/auth/login/?next=/project/volumes/')
        auth = base.connection(user).config.auth
        self.fill('#id_username', auth['username'])
        self.fill('#id_password', auth['password'])
        self.click('#loginBtn')
        self.find('#volumes')
        self.session.user = user

    def open(self, path: str) -> None:
        """Go to a page of the dashboard."""
        self.driver.get(f'{DASHBOARD}{path}')

    # What is on a page, by CSS selectors.

    def until_true(self, done: Callable[[], Any]) -> Any:
        """Wait until a function returns something true; return that."""
        stale = (
            exceptions.NoSuchElementException,
            exceptions.StaleElementReferenceException,
            exceptions.ElementNotInteractableException,
        )
        waiting = wait.WebDriverWait(
            self.driver, _PATIENCE, 0.1, ignored_exceptions=stale
        )
        return waiting.until(lambda _: done())

    def until_loaded(self) -> None:
        """Wait until all of a page has arrived, after a click that sends."""
        self.until_true(
            lambda: self.driver.execute_script(
                'return document.readyState === "complete"'
            )
        )

    def all(self, selector: str) -> list[WebElement]:
        """Return all elements, at once, that a selector finds."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def shown(self, selector: str) -> bool:
        """Say whether something that a selector finds can be seen."""
        return any(each.is_displayed() for each in self.all(selector))

    def find(self, selector: str) -> WebElement:
        """Wait for an element that can be seen; return it."""

        def there() -> WebElement | None:
            seen = [e for e in self.all(selector) if e.is_displayed()]
            return seen[0] if seen else None

        element: WebElement = self.until_true(there)
        return element

    def until_gone(self, selector: str) -> None:
        """Wait until nothing that a selector finds can be seen."""
        self.until_true(lambda: not self.shown(selector))

    def text(self, selector: str) -> str:
        """Return the text of an element that can be seen."""
        return str(self.until_true(lambda: self.find(selector).text or ' '))

    # What a person does.

    def click(self, selector: str) -> None:
        """Click on an element when that can be done."""

        def clicked() -> bool:
            element = self.find(selector)
            self.driver.execute_script(
                'arguments[0].scrollIntoView({block: "center"})', element
            )
            element.click()
            return True

        self.until_true(clicked)

    def fill(self, selector: str, value: str) -> None:
        """Type a value into a field, in place of what it holds."""
        field = self.find(selector)
        field.clear()
        field.send_keys(value)

    def choose(self, selector: str, text: str) -> None:
        """Choose the entry of a list that has a text."""
        select.Select(self.find(selector)).select_by_visible_text(text)

    # What pages asked for and complained of.

    def _read_logs(self) -> tuple[list[str], list[str]]:
        """Return addresses asked for and errors since the last time."""
        log: Callable[[str], Any] = self.driver.get_log
        asked = []
        for entry in log('performance'):
            event = json.loads(entry['message'])['message']
            if event['method'] == 'Network.requestWillBeSent':
                asked.append(event['params']['request']['url'])
        complaints = [
            entry['message']
            for entry in log('browser')
            if entry['level'] == 'SEVERE'
        ]
        return asked, complaints

    def check_quiet(self, but: str = '(nothing)') -> None:
        """Check that pages asked nobody else and complained of nothing.

        :param but: an address whose failure is stock Horizon's own
        """
        asked, complaints = self._read_logs()
        # The browser's own first page is one of chrome's.
        ours = (f'{DASHBOARD}/', 'data:', 'blob:', 'chrome:')
        self.assertNotEqual([], asked)
        self.assertEqual(
            [], [url for url in asked if not url.startswith(ours)]
        )
        excused = (but, _ROW_IS_GONE)
        self.assertEqual(
            [],
            [
                line
                for line in complaints
                if not any(words in line for words in excused)
            ],
        )
