# SPDX-License-Identifier: Apache-2.0

"""Test pages in a real browser, a headless Chromium.

All tests of a process share one browser. It can reach only this machine. The
requests and the console errors of each page are recorded.
"""

import atexit
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import json
import logging
import os
import pathlib
import shutil
import tempfile
from typing import Any
import unittest

from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.chrome import service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support import select
from selenium.webdriver.support import wait
from testtools import content

from tests.cloud import axe
from tests.cloud import base
from tests.cloud import german
from tests.cloud import relay
from tests.cloud import themes

DASHBOARD = 'http://127.0.0.1:8000'

# Determined at import: a test's own temporary folder is removed with it.
_OUTSIDE = tempfile.gettempdir()
_ARGUMENTS = (
    '--headless=new',
    # Chromium's own sandbox doesn't work for root, nor in most containers.
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    '--window-size=1280,1000',
    '--lang=en',
    # No connections to any other host.
    '--disable-background-networking',
    '--disable-component-update',
    '--no-proxy-server',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
)
# Seconds. Enough for a wizard that sends ten requests on a busy machine.
_PATIENCE = 60.0
_LANGUAGE = 'horizon_language'
# Also what is folded, and what appears above an element or in an empty field.
_ALL_TEXTS = """
const part = document.querySelector(arguments[0]);
const texts = [part.textContent];
for (const name of ['title', 'placeholder', 'alt', 'aria-label']) {
  for (const each of part.querySelectorAll('[' + name + ']')) {
    texts.push(each.getAttribute(name));
  }
}
return texts.join(' | ');
"""
# A page polls the row of a volume in transition until the row is gone, for
# example because an earlier test deletes the volume. The browser reports the
# last response, a 404, as an error.
_ROW_IS_GONE = '?action=row_update&'


def screenshots() -> pathlib.Path:
    """Return the folder for screenshots."""
    chosen = os.environ.get('RBD_TEST_SCREENSHOTS')
    folder = pathlib.Path(chosen or pathlib.Path(_OUTSIDE, 'screenshots'))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Session:
    """A browser and the user who is logged in."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(dir=_OUTSIDE)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = '/usr/bin/chromium'
        for argument in (*_ARGUMENTS, f'--user-data-dir={folder}/profile'):
            options.add_argument(argument)
        wanted = {'browser': 'ALL', 'performance': 'ALL'}
        options.set_capability('goog:loggingPrefs', wanted)
        # A home directory that outlives the first test.
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
    """Base class of dashboard tests; saves a screenshot on failure."""

    def setUp(self) -> None:
        super().setUp()
        # Each lookup of an element would add lines to the output of a failure.
        for name in ('selenium', 'urllib3'):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.session = session()
        self.driver = self.session.driver
        self.dashboard = DASHBOARD
        self.relay = relay.relay()
        self.addOnException(self._keep_what_is_seen)
        self._read_logs()

    def _keep_what_is_seen(self, failure: Any) -> None:
        if issubclass(failure[0], unittest.SkipTest):
            return
        path = self.screenshot(f'failed-{self.id().rpartition(".")[2]}')
        self.addDetail('screenshot', content.text_content(str(path)))
        self.addDetail(
            'address', content.text_content(self.driver.current_url)
        )

    def narrow(self) -> None:
        """Set the width of the window to 400 px until the test ends."""
        # The window of headless Chromium cannot be narrower than 500 px.
        size = {'width': 400, 'height': 1000, 'deviceScaleFactor': 1}
        self.driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride', {**size, 'mobile': False}
        )
        self.addCleanup(self.widen)

    def widen(self) -> None:
        """Set the width of the window back."""
        self.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})

    def cookie(self, name: str, value: str) -> None:
        """Set a cookie, such as the language, until the test ends."""
        self.driver.add_cookie({'name': name, 'value': value})
        self.addCleanup(self.driver.delete_cookie, name)

    def check_accessible(self, selector: str) -> None:
        """Check a part of the page with axe-core against WCAG 2.1 A and AA.

        The contrast of links, buttons and code is not checked: the theme sets
        their colours, and the stock themes have a contrast of 3.6 to 1 for
        links.
        """
        self.find(selector)
        self.driver.execute_script(axe.script())
        violations = self.driver.execute_async_script(
            """
            const done = arguments[arguments.length - 1];
            const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];
            axe.run(arguments[0], {runOnly: tags}).then(
              (found) => done(found.violations.flatMap(
                (each) => each.nodes.filter(
                  (node) => each.id !== 'color-contrast' || !document
                    .querySelector(node.target.join(' '))
                    .closest('a, .btn, code')
                ).map((node) => [
                  each.id, node.target.join(' '), node.failureSummary
                ])
              )),
              (error) => done([String(error)])
            );
            """,
            selector,
        )
        self.assertEqual([], violations)

    def check_everywhere(
        self, path: str, selector: str, prepare: Callable[[], Any], name: str
    ) -> None:
        """Check a form with axe-core in both stock themes, wide and at 400 px.

        Also check that all of it is German for a user of that language, and
        that the page asks for the options of volume types at most once, if
        they are not cached.

        :param path: the page
        :param selector: what is checked; it must fit into the width
        :param prepare: makes the form visible, in a wide window; the page can
            be German
        :param name: of the screenshots
        """
        with self.in_german():
            self.open(path)
            prepare()
            self.check_german(selector)
            self.screenshot(f'german-{name}')
        # The default theme is last, and remains.
        for theme in reversed(themes.STOCK):
            self.widen()
            self.cookie('theme', theme)
            relay.forget_offers()
            before = self.relay.count()
            self.open(path)
            themes.use(self.driver, theme)
            prepare()
            self.assertLessEqual(self.relay.count() - before, 1, path)
            self.check_accessible(selector)
            self.narrow()
            self.check_accessible(selector)
            self.assertLessEqual(
                self.driver.execute_script(
                    'return document.querySelector(arguments[0])'
                    '.getBoundingClientRect().right',
                    selector,
                ),
                400,
                (name, theme),
            )
            self.screenshot(f'narrow-{name}-{theme}')
            self.widen()
            self.screenshot(f'wide-{name}-{theme}')

    @contextlib.contextmanager
    def in_german(self) -> Iterator[None]:
        """Switch the language; the browser has the pages' scripts."""
        self.driver.add_cookie({'name': _LANGUAGE, 'value': 'de'})
        try:
            yield
        finally:
            self.driver.delete_cookie(_LANGUAGE)

    def check_german(self, selector: str) -> None:
        """Check that a part of the page has no English text of the suite."""
        self.find(selector)
        text = self.driver.execute_script(_ALL_TEXTS, selector)
        self.assertEqual([], german.english_in(text), text)

    def screenshot(self, name: str) -> pathlib.Path:
        """Save a screenshot; return its path."""
        path = screenshots() / f'{name}.png'
        self.driver.save_screenshot(str(path))
        return path

    # Navigation

    def login(self, user: str) -> None:
        """Log in as a user of clouds.yaml: ``demo`` or ``admin``."""
        if self.session.user == user:
            return
        self.driver.delete_all_cookies()
        self.session.user = None
        self.open('/auth/login/?next=/project/volumes/')
        auth = base.connection(user).config.auth
        self.fill('#id_username', auth['username'])
        self.fill('#id_password', auth['password'])
        with self.relay.in_catalog(self.operator):
            self.click('#loginBtn')
            self.find('#volumes')
        self.session.user = user

    def open(self, path: str) -> None:
        """Open a page of the dashboard.

        First wait for the responses to the scripts of the current page: the
        response to a form in a dialog loads the table again, and would do so
        instead of the page to open.
        """
        self.until_true(
            lambda: self.driver.execute_script(
                'return !window.jQuery || !jQuery.active'
            )
        )
        self.driver.get(f'{self.dashboard}{path}')

    def fetch(self, path: str) -> tuple[int, str]:
        """Request a page as Horizon's scripts do; return status and text."""
        status, text = self.driver.execute_async_script(
            """
            const done = arguments[arguments.length - 1];
            const headers = {'X-Requested-With': 'XMLHttpRequest'};
            fetch(arguments[0], {headers}).then((found) =>
              found.text().then((text) => done([found.status, text])));
            """,
            path,
        )
        return status, text

    # Elements of a page, by CSS selector

    def until_true(self, done: Callable[[], Any]) -> Any:
        """Wait until a function returns a true value; return the value."""
        stale = (
            exceptions.NoSuchElementException,
            exceptions.StaleElementReferenceException,
            exceptions.ElementNotInteractableException,
            # Something is above it, such as a dialog that fades out.
            exceptions.ElementClickInterceptedException,
        )
        waiting = wait.WebDriverWait(
            self.driver, _PATIENCE, 0.1, ignored_exceptions=stale
        )
        return waiting.until(lambda _: done())

    def until_loaded(self) -> None:
        """Wait until the page has loaded, after a click that submits."""
        self.until_true(
            lambda: self.driver.execute_script(
                'return document.readyState === "complete"'
            )
        )

    def all(self, selector: str) -> list[WebElement]:
        """Return all matching elements without waiting."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def shown(self, selector: str) -> bool:
        """Return whether a matching element is visible."""
        return any(each.is_displayed() for each in self.all(selector))

    def find(self, selector: str) -> WebElement:
        """Wait for a visible matching element; return it."""

        def there() -> WebElement | None:
            seen = [e for e in self.all(selector) if e.is_displayed()]
            return seen[0] if seen else None

        element: WebElement = self.until_true(there)
        return element

    def text(self, selector: str) -> str:
        """Return the text of a visible matching element."""
        return str(self.until_true(lambda: self.find(selector).text or ' '))

    # User actions

    def click(self, selector: str) -> None:
        """Wait until an element can be clicked, then click it."""

        def clicked() -> bool:
            element = self.find(selector)
            self.driver.execute_script(
                'arguments[0].scrollIntoView({block: "center"})', element
            )
            element.click()
            return True

        self.until_true(clicked)

    def fill(self, selector: str, value: str) -> None:
        """Replace the content of a field."""
        field = self.find(selector)
        field.clear()
        field.send_keys(value)

    def choose(self, selector: str, text: str) -> None:
        """Select the list entry with this text."""
        select.Select(self.find(selector)).select_by_visible_text(text)

    def submit_page(self, selector: str) -> None:
        """Click what submits the form of a page; wait for the next page."""
        gone = expected_conditions.staleness_of(self.find('body'))
        self.click(selector)
        self.until_true(lambda: gone(self.driver))
        self.until_loaded()

    # Requests and errors of pages

    def _read_logs(self) -> tuple[list[str], list[str]]:
        """Return the requested URLs and the errors since the last call."""
        log: Callable[[str], Any] = self.driver.get_log
        urls = []
        for entry in log('performance'):
            event = json.loads(entry['message'])['message']
            if event['method'] == 'Network.requestWillBeSent':
                urls.append(event['params']['request']['url'])
        complaints = [
            entry['message']
            for entry in log('browser')
            if entry['level'] == 'SEVERE'
        ]
        return urls, complaints

    def check_quiet(self, but: str = '(nothing)') -> None:
        """Check that pages sent no external requests and logged no errors.

        :param but: a URL whose failure is caused by stock Horizon
        """
        urls, complaints = self._read_logs()
        # The initial page of the browser has a chrome: URL.
        ours = (f'{self.dashboard}/', 'data:', 'blob:', 'chrome:')
        self.assertNotEqual([], urls)
        self.assertEqual([], [url for url in urls if not url.startswith(ours)])
        excused = (but, _ROW_IS_GONE)
        self.assertEqual(
            [],
            [
                line
                for line in complaints
                if not any(words in line for words in excused)
            ],
        )
