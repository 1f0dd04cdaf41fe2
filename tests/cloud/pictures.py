# SPDX-License-Identifier: Apache-2.0

"""Screenshots for the documentation."""

import pathlib

from tests.cloud import browser


def of_element(
    case: browser.BrowserTestCase,
    name: str,
    selector: str,
    width: int | None = None,
) -> pathlib.Path:
    """Save a screenshot of a whole element; return its path.

    :param width: of the window; None to keep it
    """
    window = case.driver
    before = window.get_window_size()
    width = width or before['width']
    # The height of the element depends on the width of the window.
    window.set_window_size(width, before['height'])
    try:
        element = case.find(selector)
        # A dialog that is scrolled begins above the window.
        window.execute_script(
            'const dialog = arguments[0].closest(".modal");'
            'if (dialog) { dialog.scrollTop = 0; }',
            element,
        )
        # The window is higher than the page by its frame.
        height = element.location['y'] + element.size['height'] + 200
        window.set_window_size(width, max(before['height'], height))
        path = browser.screenshots() / f'{name}.png'
        case.find(selector).screenshot(str(path))
    finally:
        window.set_window_size(before['width'], before['height'])
    return path
