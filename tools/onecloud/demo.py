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

"""The suite's main job, shown and checked on the running cloud."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from typing import Any

from onecloud import errors

_ASKED = {
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
    'rbd:object_map': 'true',
}
_NAME = 'sandbox-demo'


class Demo:
    """Commands as a tenant would type them, shown as they are run."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = {**os.environ, **environ}

    def run(self, *command: str, show: bool = True) -> str:
        """Run a command, print it with its output, return that."""
        if show:
            print(f'\n$ {shlex.join(command)}', flush=True)
        done = subprocess.run(
            command,
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise errors.SandboxError(
                f'{shlex.join(command)}: {done.stderr.strip()}'
            )
        if show:
            print(done.stdout.rstrip())
        return done.stdout

    def volume(self, ident: str) -> dict[str, Any]:
        """Return a volume as the API shows it."""
        text = self.run(
            *('openstack', 'volume', 'show', ident, '-f', 'json'), show=False
        )
        found: dict[str, Any] = json.loads(text)
        return found

    def wait_available(self, ident: str) -> None:
        """Wait until a volume is made."""
        deadline = time.monotonic() + 60
        while (status := self.volume(ident)['status']) != 'available':
            if status == 'error' or time.monotonic() > deadline:
                raise errors.SandboxError(
                    f'The volume is {status}; see tools/sandbox logs '
                    'cinder-volume'
                )
            time.sleep(0.5)


def _checks(info: dict[str, Any]) -> dict[str, bool]:
    return {
        'stripe unit is 64 KiB': info.get('stripe_unit') == 64 * 1024,
        'stripe count is 8': info.get('stripe_count') == 8,
        'object map is on': 'object-map' in info['features'],
        'object map is valid': info['flags'] == [],
    }


def run(environ: dict[str, str]) -> int:
    """Make the volume, show it in Cinder and in Ceph; 0 if it is right."""
    demo = Demo(environ)
    asked = [
        part
        for key, value in _ASKED.items()
        for part in ('--property', f'{key}={value}')
    ]
    ident = demo.run(
        *('openstack', 'volume', 'create', '--size', '8', '--type', 'rbd'),
        *(*asked, '-f', 'value', '-c', 'id', _NAME),
    ).strip()
    try:
        demo.wait_available(ident)
        demo.run('openstack', 'volume', 'show', ident)
        image = f'volumes/volume-{ident}'
        demo.run('rbd', 'info', image)
        info = json.loads(
            demo.run('rbd', 'info', '--format', 'json', image, show=False)
        )
    finally:
        demo.run('openstack', 'volume', 'delete', ident)
    return _verdict(_checks(info))


def _verdict(checks: dict[str, bool]) -> int:
    print()
    for name, right in checks.items():
        print(f'{"ok" if right else "WRONG":6} {name}')
    return 0 if all(checks.values()) else 1
