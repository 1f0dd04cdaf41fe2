# SPDX-License-Identifier: Apache-2.0

"""A demonstration and check of the suite on the running cloud."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from typing import Any
from xml.etree import ElementTree

from sandbox_cloud import errors
from sandbox_cloud import guest

_ASKED = {
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
    'rbd:object_map': 'true',
    'rbd:cache_mode': 'writeback',
}
_NAME = 'sandbox-demo'
_WORD = 'sandbox'
_MIB = 4
# An emulated guest on a busy machine needs this time.
_PATIENCE = 120.0


class Demo:
    """Runs commands of a tenant and shows them."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = {**os.environ, **environ}

    def run(self, *command: str, show: bool = True) -> str:
        """Run a command, print it with its output, return the output."""
        if show:
            print(f'\n$ {shlex.join(command)}', flush=True)
        done = subprocess.run(
            command,
            env=self.environ,
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
        shown: dict[str, Any] = json.loads(text)
        return shown

    def wait_for(self, ident: str, status: str) -> None:
        """Wait until a volume has a status."""
        deadline = time.monotonic() + _PATIENCE
        while (current := self.volume(ident)['status']) != status:
            if current == 'error' or time.monotonic() > deadline:
                raise errors.SandboxError(
                    f'The volume is {current}; see tools/sandbox logs '
                    'cinder-volume'
                )
            time.sleep(0.5)

    def wait_for_answer(self, server: str, number: int) -> str:
        """Wait until a server's guest has executed a command."""
        deadline = time.monotonic() + _PATIENCE
        command = ('openstack', 'console', 'log', 'show', server)
        while True:
            said = guest.answer(self.run(*command, show=False), number)
            if said:
                self.run(*command)
                return said
            if time.monotonic() > deadline:
                raise errors.SandboxError(
                    'The guest does not answer; see: openstack console log '
                    f'show {server}'
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
    """Create a volume and use it on a server; return 0 on success."""
    demo = Demo(environ)
    properties = [
        part
        for key, value in _ASKED.items()
        for part in ('--property', f'{key}={value}')
    ]
    ident = demo.run(
        *('openstack', 'volume', 'create', '--size', '8', '--type', 'rbd'),
        *(*properties, '-f', 'value', '-c', 'id', _NAME),
    ).strip()
    try:
        demo.wait_for(ident, 'available')
        demo.run('openstack', 'volume', 'show', ident)
        image = f'volumes/volume-{ident}'
        demo.run('rbd', 'info', image)
        info = json.loads(
            demo.run('rbd', 'info', '--format', 'json', image, show=False)
        )
        checks = _use(demo, ident, image)
    finally:
        demo.run('openstack', 'volume', 'delete', ident)
    return _verdict({**_checks(info), **checks})


def _use(demo: Demo, volume: str, image: str) -> dict[str, bool]:
    """Boot a server, attach the volume, write and read in the guest."""
    server = demo.run(
        *('openstack', 'server', 'create', '--image', 'tiny', '--wait'),
        *('--flavor', 'tiny', '--nic', 'none', '-f', 'value', '-c', 'id'),
        _NAME,
    ).strip()
    try:
        demo.run('openstack', 'server', 'add', 'volume', server, volume)
        demo.wait_for(volume, 'in-use')
        print(f'\n$ virsh dumpxml {server}   # only the disk of the volume')
        disk = _disk(demo.run('virsh', 'dumpxml', server, show=False), volume)
        print(ElementTree.tostring(disk, encoding='unicode').strip())
        # A user would type this in the server, but it has no network: see
        # sandbox_cloud.guest.
        guest.ask(image, f'1 write {_MIB} {_WORD}', demo.environ)
        said = demo.wait_for_answer(server, 1)
    finally:
        # The volume is then detached.
        demo.run('openstack', 'server', 'delete', '--wait', server)
        demo.wait_for(volume, 'available')
    driver = disk.find('driver')
    mode = None if driver is None else driver.get('cache')
    checksum = guest.checksum(_WORD, _MIB)
    return {
        f"the guest's disk has cache mode {mode}": mode == 'writeback',
        'the guest reads what it wrote': said.endswith(f'md5={checksum}'),
    }


def _disk(domain: str, volume: str) -> ElementTree.Element:
    """Return the disk of a volume from a guest's XML."""
    root = ElementTree.fromstring(domain)  # noqa: S314 - libvirt made it
    (disk,) = (
        each for each in root.iter('disk') if each.findtext('serial') == volume
    )
    return disk


def _verdict(checks: dict[str, bool]) -> int:
    print()
    for name, right in checks.items():
        print(f'{"ok" if right else "WRONG":6} {name}')
    return 0 if all(checks.values()) else 1
