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
