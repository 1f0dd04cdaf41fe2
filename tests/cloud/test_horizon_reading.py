# SPDX-License-Identifier: Apache-2.0

"""The panel RBD Images while volumes are deleted that it has read."""

import os
import pathlib
import subprocess
import time
import uuid

from tests import runs
from tests.cloud import browser
from tests.cloud import relay

_PANEL = '/admin/rbd_images/'
#: The number of volumes in a response of Cinder.
_PAGE = 1000
#: Seconds after which the panel stops reading.
_BUDGET = 10
_COLUMNS = (
    'SELECT GROUP_CONCAT(column_name) FROM information_schema.columns '
    "WHERE table_schema = 'cinder' AND table_name = 'volumes'"
)


def _execute(statement: str) -> str:
    """Run a statement on Cinder's database; return its output."""
    socket = pathlib.Path(os.environ['RBD_SANDBOX_STATE'], 'run/mariadb.sock')
    done = subprocess.run(
        ['mariadb', '--no-defaults', '-N', f'--socket={socket}', 'cinder'],
        input=statement,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@runs.tags(runs.NIGHTLY)
class ContinueTest(browser.BrowserTestCase):
    def copies(self, volume: str, number: int) -> str:
        """Insert newer volumes that are copies of a record; return a name.

        They have no images, and creating them would take minutes.
        """
        name = f'copy-{uuid.uuid4().hex[:8]}'
        other = {
            'id': 'UUID()',
            'display_name': f"'{name}'",
            'created_at': 'created_at + INTERVAL 1 SECOND',
        }
        columns = _execute(_COLUMNS).split(',')
        values = ', '.join(other.get(each, each) for each in columns)
        self.addCleanup(
            _execute,
            f"DELETE FROM volumes WHERE display_name = '{name}'",  # noqa: S608
        )
        _execute(
            f'INSERT INTO volumes ({", ".join(columns)}) SELECT {values} '  # noqa: S608
            f"FROM volumes, seq_1_to_{number} WHERE id = '{volume}'"
        )
        return name

    def images(self, words: str) -> str:
        """Return the number of listed images with words in their name."""
        self.open(f'{_PANEL}?q={words}')
        return self.text('#rbd-images-shown')

    def test_last_volume_was_deleted(self) -> None:
        older = self.created(name=f'older-{uuid.uuid4().hex[:8]}')
        last = self.created(name='the last one of a page')
        # Cinder stores whole seconds and sorts by ID within a second.
        _execute(
            'UPDATE volumes SET created_at = created_at - INTERVAL 1 MINUTE '  # noqa: S608
            f"WHERE id = '{older}'"
        )
        self.login('admin')
        name = self.copies(last, _PAGE - 1)

        def late(answer: relay.Answer) -> relay.Answer:
            # The time of the panel is over when the first page arrives.
            time.sleep(_BUDGET)
            return answer

        relay.forget(b'rbd_volume_options')
        with self.relay.changed(f'limit={_PAGE}', late):
            self.open(_PANEL)
        self.assertIn('the list is not complete', self.text('.rbd-images'))
        taken = self.text('.rbd-images-taken')
        self.assertIn('of 1,000', self.text('#rbd-images-shown'))
        self.remove(last)
        before = len(self.relay.asked)
        self.submit_page('button[name="more"]')
        self.assertEqual(taken, self.text('.rbd-images-taken'))
        self.assertNotIn('not complete', self.text('.rbd-images'))
        # It continues after the volume before the deleted one.
        pages = [
            each
            for each in self.relay.asked[before:]
            if f'limit={_PAGE}' in each
        ]
        self.assertEqual(2, len(pages), str(pages))
        self.assertIn(f'marker={last}', pages[0])
        self.assertIn('marker=', pages[1])
        self.assertIn('of 999', self.images(name))
        self.assertIn('of 1', self.images(older))
        self.check_quiet()
