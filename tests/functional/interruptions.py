# SPDX-License-Identifier: Apache-2.0

"""Interruptions of removals of images."""

import json
import pathlib
import signal
import subprocess
import sys

import fixtures

from tests.functional import ceph

_PROGRAM = pathlib.Path(__file__).with_name('removing.py')


class ShortWatch(fixtures.Fixture):
    """The OSD forgets a killed client after a few seconds.

    A client that works for more than 5 seconds shows in these intervals that
    it is there. With fewer seconds, it loses its watch and its lock.
    """

    def __init__(self, cluster: ceph.SharedCluster, seconds: int = 3) -> None:
        super().__init__()
        self._cluster = cluster
        self._seconds = seconds

    def _setUp(self) -> None:
        self._set(self._seconds)
        self.addCleanup(self._set, 30)

    def _set(self, seconds: int) -> None:
        command = {
            'prefix': 'config set',
            'var': 'osd_client_watch_timeout',
            'val': [str(seconds)],
        }
        status, _, text = self._cluster.rados.osd_command(
            0, json.dumps(command), b''
        )
        if status:
            raise AssertionError(text)


def kill_during_removal(
    cluster: ceph.SharedCluster,
    name: str,
    pool: str = 'volumes',
    ident: str = '',
) -> None:
    """Remove an image in a process that is killed half-way.

    :param ident: the id of the image if it is in the trash
    """
    done = subprocess.run(
        [sys.executable, _PROGRAM, cluster.conf, pool, name, ident],
        check=False,
    )
    if done.returncode != -signal.SIGKILL:
        raise AssertionError(f'the process ended with {done.returncode}')


def kill_while_open(cluster: ceph.SharedCluster, name: str) -> None:
    """Open an image in a process that is killed while it has it open."""
    program = (
        'import os, rados, rbd, signal, sys\n'
        'client = rados.Rados(conffile=sys.argv[1], rados_id="admin")\n'
        'client.connect()\n'
        'image = rbd.Image(client.open_ioctx("volumes"), sys.argv[2])\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', program, cluster.conf, name], check=False
    )
    if done.returncode != -signal.SIGKILL:
        raise AssertionError(f'the process ended with {done.returncode}')


def objects(
    cluster: ceph.SharedCluster, prefix: str, pool: str = 'volumes'
) -> int:
    """Return the number of objects whose names have a prefix."""
    return sum(
        each.key.startswith(prefix)
        for each in cluster.ioctx(pool).list_objects()
    )
