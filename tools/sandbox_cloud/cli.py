# SPDX-License-Identifier: Apache-2.0

"""The command line of tools/sandbox."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import os
import pathlib
import shlex
import sys
import time
from typing import Any

from sandbox_cloud import compute_hosts
from sandbox_cloud import errors
from sandbox_cloud import preflight
from sandbox_cloud import state
from sandbox_cloud import status

# Adds a command with its summary, and returns its parser.
_Add = Callable[[str, str], argparse.ArgumentParser]

_DESCRIPTION = """\
Run an OpenStack cloud with a Ceph cluster on this machine, for trials and
tests. All data is in one directory (RBD_SANDBOX_STATE, by default
~/.local/state/rbd-sandbox). All services listen on 127.0.0.1 only. Only the
installed Debian packages remain after removal.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/sandbox', description=_DESCRIPTION
    )
    parser.add_argument(
        '--name',
        help='a sandbox of this name in its own network, mount and process '
        'namespaces, beside others; must be the first argument',
    )
    # The shell script calls these before it installs anything, and to install
    # what needs a network.
    for flag in ('--check', '--install'):
        parser.add_argument(flag, action='store_true', help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest='command', required=True)

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=summary)

    _add_starts(add)
    add('down', 'stop and remove the cloud').add_argument(
        '--keep-venv',
        action='store_true',
        help='keep the Python environments, so that the next start is fast',
    )
    add('status', 'show the services').add_argument(
        '--json', action='store_true', help='print JSON'
    )
    _add_env(add)
    image = add(
        'guest-image',
        'create the boot image of servers, if it is missing; print its path',
    )
    image.add_argument(
        '--with-fio',
        action='store_true',
        help='the image for "cinder-rbd-ext bench", which contains fio',
    )
    _add_logs(add)
    _add_exec(add)
    return parser


def _add_starts(add: _Add) -> None:
    up = add('up', 'start the cloud; install missing packages first')
    demo = add('demo', 'use a striped volume on a server and show the results')
    releases = state.releases()
    for each in (up, demo):
        each.add_argument(
            '--release',
            choices=releases,
            help=f'OpenStack release (default: {releases[-1]})',
        )
        # The shell script has read it.
        each.add_argument(
            '--platform',
            choices=('trixie', 'forky'),
            help='release of Debian on which a new sandbox runs, installed in '
            'a folder of the cache (default: that of this machine)',
        )
    up.add_argument(
        '--computes',
        type=int,
        choices=range(1, compute_hosts.MOST + 1),
        help='compute hosts; 2 for migrations (default: no change, or 1)',
    )
    up.add_argument(
        '--libvirt',
        choices=('machine', 'trixie', 'forky'),
        help="release of Debian of the first host's libvirt and QEMU, "
        'installed in a folder of the sandbox; servers on it are stopped '
        '(default: no change, or that of this machine)',
    )
    up.add_argument(
        '--osds',
        type=int,
        choices=range(1, 10),
        help='OSDs of a new cloud, for benchmarks (default: 1)',
    )


def _add_env(add: _Add) -> None:
    env = add(
        'env', 'print variables for clients: eval "$(tools/sandbox env)"'
    )
    _add_cloud(env)
    env.add_argument('--json', action='store_true', help='print JSON')


def _add_logs(add: _Add) -> None:
    logs = add('logs', 'show the last lines of logs')
    logs.add_argument(
        'service', nargs='?', help='name of a service, as shown by status'
    )
    logs.add_argument(
        '-f',
        '--follow',
        action='store_true',
        help='show new lines as they appear',
    )


def _add_cloud(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--cloud',
        choices=('demo', 'admin'),
        default='demo',
        help='user of the clients (default: demo, a tenant)',
    )


def _add_exec(add: _Add) -> None:
    execute = add('exec', 'run a client: tools/sandbox exec -- COMMAND')
    _add_cloud(execute)
    execute.add_argument(
        'words',
        nargs=argparse.REMAINDER,
        metavar='COMMAND',
        help='a command with its arguments',
    )


def _up(place: state.State, args: argparse.Namespace) -> int:
    # Imported here, because other commands run without the bootstrap venv.
    from sandbox_cloud import cloud
    from sandbox_cloud import progress
    from sandbox_cloud.services import horizon

    os.umask(0o077)
    start = time.monotonic()
    with place.alone():
        if args.install:
            release = args.release or place.release or state.releases()[-1]
            place.make()
            _set_libvirt(place, args)
            with progress.shown() as shown:
                cloud.Cloud(place, release).fetch(shown)
            return 0
        # Check again: the state may have changed in the meantime.
        release = preflight.check(place, args.release)
        place.make()
        _set_libvirt(place, args)
        if getattr(args, 'computes', None):
            place.computes = args.computes
        if getattr(args, 'osds', None):
            place.set_osds(args.osds)
        with progress.shown() as shown:
            cloud.Cloud(place, release).up(shown)
    clients = 'eval "$(tools/sandbox env)"'
    if args.name or place.platform:
        option = f'--name {args.name} ' if args.name else ''
        clients = f'tools/sandbox {option}exec -- COMMAND'
    print(
        f'The cloud is up after {time.monotonic() - start:.0f} s. '
        f'For openstack and rbd: {clients}\n'
        f'Dashboard: {horizon.URL} as demo or admin, with the passwords of '
        f'{place.run / "clouds.yaml"}'
    )
    return 0


def _set_libvirt(place: state.State, args: argparse.Namespace) -> None:
    if getattr(args, 'libvirt', None):
        place.libvirt = args.libvirt.removeprefix('machine')


def _demo(place: state.State, args: argparse.Namespace) -> int:
    from sandbox_cloud import demo

    _up(place, args)
    if args.install:
        return 0
    # The client has a cache, which must be removed with the sandbox.
    cache = {'XDG_CACHE_HOME': str(place.data / 'cache')}
    return demo.run({**_environ(place, 'demo'), **cache})


def _down(place: state.State, args: argparse.Namespace) -> int:
    if not place.root.exists():
        print('There is no sandbox.')
        return 0
    with place.alone():
        status.down(place)
        place.remove(keep_venv=args.keep_venv)
    print('The sandbox is down.')
    return 0


def _status(place: state.State, args: argparse.Namespace) -> int:
    shown = status.read(place)
    if args.json:
        print(json.dumps(shown, indent=2))
    else:
        print(status.table(shown))
    return 0 if shown['up'] else 3


def _environ(place: state.State, cloud: str) -> dict[str, str]:
    release = place.release
    if release is None:
        raise errors.SandboxError(
            'There is no sandbox. Start one with: tools/sandbox up'
        )
    return {
        # Callers such as tests may change HOME.
        'RBD_SANDBOX_STATE': str(place.root),
        'OS_CLIENT_CONFIG_FILE': str(place.run / 'clouds.yaml'),
        'OS_CLOUD': cloud,
        'CEPH_CONF': str(place.run / 'ceph' / 'etc' / 'ceph.conf'),
        'LIBVIRT_DEFAULT_URI': compute_hosts.ComputeHost(place, 1).uri,
        'PATH': f'{place.venv(release)}/bin:{os.environ["PATH"]}',
    }


def _env(place: state.State, args: argparse.Namespace) -> int:
    values = _environ(place, args.cloud)
    if args.json:
        print(json.dumps(values, indent=2))
    else:
        for name, value in values.items():
            print(f'export {name}={shlex.quote(value)}')
    return 0


def _exec(place: state.State, args: argparse.Namespace) -> int:
    words = args.words[args.words[:1] == ['--'] :]
    if not words:
        raise errors.SandboxError('exec needs a command')
    environ = dict(os.environ)
    if place.release:
        environ.update(_environ(place, args.cloud))
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, environ)  # noqa: S606 - as for a shell
    except OSError as error:
        raise errors.SandboxError(f'{words[0]}: {error.strerror}') from None


def _guest_image(place: state.State, args: argparse.Namespace) -> int:
    from sandbox_cloud import fio_image
    from sandbox_cloud import guest_image

    kind = fio_image.image if args.with_fio else guest_image.GuestImage
    with place.alone():
        place.make()
        made = kind(place.root / 'guest', place.log / 'guest.log').make()
    print(made)
    return 0


def _logs(place: state.State, args: argparse.Namespace) -> int:
    logs: list[pathlib.Path] = sorted(
        [*place.log.glob('*.log'), *(place.run / 'ceph/log').glob('*')]
    )
    if args.service:
        logs = [path for path in logs if path.stem == args.service]
    if not logs:
        names = sorted({path.stem for path in place.log.glob('*.log')})
        raise errors.SandboxError(
            f'No log of {args.service or "anything"}. There are: '
            f'{", ".join(names) or "none"}'
        )
    sys.stdout.flush()
    count = '100' if args.service else '5'
    follow = ['--follow'] if args.follow else []
    # tail replaces this process, so that Ctrl-C ends it.
    os.execvp(  # noqa: S606 - no shell is wanted
        'tail', ['tail', '-n', count, *follow, *map(str, logs)]
    )


_COMMANDS: dict[str, Any] = {
    'up': _up,
    'demo': _demo,
    'down': _down,
    'status': _status,
    'env': _env,
    'guest-image': _guest_image,
    'logs': _logs,
    'exec': _exec,
}


def main() -> int:
    """Run a command; return the exit code."""
    args = _parser().parse_args()
    place = state.State(state.default_root())
    try:
        if args.check:
            if args.command in ('up', 'demo'):
                preflight.check(place, args.release)
            return 0
        return int(_COMMANDS[args.command](place, args))
    except errors.SandboxError as error:
        print(f'tools/sandbox: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            'Interrupted. Run the command again to continue.', file=sys.stderr
        )
        return 130
