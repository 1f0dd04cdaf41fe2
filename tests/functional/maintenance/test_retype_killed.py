# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext retype`` is killed at any time, and is resumed.

Cinder's API is a server of this process, so that it is known which requests
it has accepted.
"""

import collections
import http.server
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
from typing import Any
import uuid

import fixtures
import testtools

from tests import runs
from tests import tree
from tests.functional.maintenance import test_clean_killed

_NUMBER = 5
_TYPES = {'old': str(uuid.uuid4()), 'new': str(uuid.uuid4())}


class Cinder(http.server.ThreadingHTTPServer):
    """Cinder's API with volumes, whose retypes take some time.

    :ivar types: the type of each volume
    :ivar until: when the retype of a volume ends
    :ivar accepted: how often each volume was retyped
    """

    def __init__(self, choice: random.Random) -> None:
        super().__init__(('127.0.0.1', 0), _Request)
        self._choice = choice
        self._lock = threading.Lock()
        self.types = {str(uuid.uuid4()): 'old' for _ in range(_NUMBER)}
        self.until: dict[str, float] = {}
        self.accepted: collections.Counter[str] = collections.Counter()

    def volume(self, ident: str) -> dict[str, Any]:
        """Return a volume as the API shows it."""
        with self._lock:
            if self.until.get(ident, math.inf) < time.monotonic():
                del self.until[ident]
                self.types[ident] = 'new'
            status = 'retyping' if ident in self.until else 'available'
            return {
                'id': ident,
                'status': status,
                'volume_type': self.types[ident],
                'os-vol-host-attr:host': 'host@rbd#rbd',
            }

    def retype(self, ident: str) -> int:
        """Begin a retype and return the status of the response."""
        volume = self.volume(ident)
        with self._lock:
            if volume['status'] != 'available' or ident in self.until:
                return 400
            self.accepted[ident] += 1
            seconds = self._choice.uniform(0, 1.5)
            self.until[ident] = time.monotonic() + seconds
            return 202


class _Request(http.server.BaseHTTPRequestHandler):
    server: Cinder

    def do_GET(self) -> None:
        path, _, query = self.path.partition('?')
        if path.startswith('/types'):
            types = [
                {'id': ident, 'name': name} for name, ident in _TYPES.items()
            ]
            self._answer(200, {'volume_types': types})
        elif path == '/scheduler-stats/get_pools':
            self._answer(200, {'pools': []})
        elif path == '/volumes/detail':
            idents = [] if 'marker' in query else sorted(self.server.types)
            self._answer(
                200, {'volumes': [self.server.volume(each) for each in idents]}
            )
        else:
            volume = self.server.volume(path.rpartition('/')[2])
            self._answer(200, {'volume': volume})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers['Content-Length']))
        self._answer(self.server.retype(self.path.split('/')[2]), {})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Write nothing."""


# Minutes; the retype of a volume is killed in each run.
@runs.tags(runs.NIGHTLY)
class RetypeKilledTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        seed = random.randrange(2**32)
        self.addDetail('seed', testtools.content.text_content(str(seed)))
        self.choice = random.Random(seed)
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.journal = self.folder / 'journal'

    def command(self, cinder: Cinder, *words: str) -> 'subprocess.Popen[str]':
        """Start a command."""
        settings = {'storage': f'http://127.0.0.1:{cinder.server_port}'}
        return subprocess.Popen(
            [
                *(sys.executable, '-m'),
                'tests.functional.maintenance.operator_commands',
                *(json.dumps(settings), '', 'retype', *words, '-f', 'json'),
            ],
            cwd=tree.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def started(self, cinder: Cinder) -> 'subprocess.Popen[str]':
        """Start to apply the plan, which is made before the first run."""
        plan = self.folder / 'plan'
        if not plan.exists():
            words = ('--from', 'old', '--to', 'new', '-o', str(plan))
            made = self.command(cinder, 'plan', *words)
            _, messages = made.communicate()
            self.assertEqual(0, made.returncode, messages)
        return self.command(
            cinder,
            *('apply', str(plan), '--ignore-health', '--at-once', '3'),
            *('--journal', str(self.journal)),
        )

    def _journal_size(self) -> int:
        return self.journal.stat().st_size if self.journal.exists() else 0

    def kill(self, cinder: Cinder) -> bool:
        """Kill a run after it has begun; return whether it was killed."""
        size = self._journal_size()
        process = self.started(cinder)
        while process.poll() is None and self._journal_size() == size:
            time.sleep(0.002)
        time.sleep(self.choice.uniform(0, 1))
        process.kill()
        process.communicate()
        return process.returncode < 0

    def test_kill_at_any_time_retypes_each_volume_once(self) -> None:
        left = int(os.environ.get(test_clean_killed.KILLS, 2))
        while left > 0:
            with Cinder(self.choice) as cinder:
                serving = threading.Thread(target=cinder.serve_forever)
                serving.start()
                self.addCleanup(serving.join)
                self.addCleanup(cinder.shutdown)
                for _ in range(self.choice.randint(1, 4)):
                    left -= self.kill(cinder)
                process = self.started(cinder)
                output, messages = process.communicate()
                self.assertEqual(0, process.returncode, messages)
                rows = {row['Volume']: row for row in json.loads(output)}
                self.assertEqual(cinder.types.keys(), rows.keys(), messages)
                self.assertLessEqual(
                    {row['Status'] for row in rows.values()},
                    {'done', 'done earlier', 'unchanged'},
                )
                self.assertEqual({'new'}, set(cinder.types.values()))
                self.assertEqual({1}, set(cinder.accepted.values()))
                cinder.shutdown()
            self.journal.unlink()
            (self.folder / 'plan').unlink()
