# SPDX-License-Identifier: Apache-2.0

"""The configuration of a one-node Ceph cluster: ceph.conf and keys."""

from __future__ import annotations

from collections.abc import Mapping
import subprocess

Caps = Mapping[str, str]

ADMIN_CAPS: Caps = {
    'mon': 'allow *',
    'mgr': 'allow *',
    'osd': 'allow *',
    'mds': 'allow *',
}

DAEMON_CAPS: Mapping[str, Caps] = {
    'mon.': {'mon': 'allow *'},
    'mgr.x': {'mon': 'allow profile mgr', 'osd': 'allow *', 'mds': 'allow *'},
}

OSD_CAPS: Caps = {
    'mon': 'allow profile osd',
    'mgr': 'allow profile osd',
    'osd': 'allow *',
}

CONF = """\
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
run dir = {run}
crash dir = {data}/crash
log file = {log}/$name.log
# OSDs on one host: everything has one copy, which Ceph refuses
# unless this is allowed explicitly.
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 16
osd pool default pgp num = 16
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000

[mon]
mon data = {data}/$name
admin socket = {run}/$name.asok
mon cluster log file = {log}/cluster.log
mon data avail crit = 1
mon data avail warn = 2
auth allow insecure global id reclaim = false
# Each change of a map waits for this; 1 s by default, once per pool.
paxos propose interval = 0.05
mon tick interval = 1
mon mgr digest period = 1
mon osd initial require min compat client = nautilus

[mgr]
mgr data = {data}/$name
keyring = {data}/$name/keyring
admin socket = {run}/$name.asok
mgr initial modules =
# Statistics that a test waits for are then one second old, not five.
mgr tick period = 1
mgr stats period = 1

[osd]
osd data = {data}/$name
keyring = {data}/$name/keyring
admin socket = {run}/$name.asok
osd objectstore = bluestore
bluestore block create = true
bluestore block size = {block}
osd memory target = {memory}
osd class update on start = false
osd fast shutdown = true
osd fast shutdown notify mon = true
osd pool default crush rule = 0
# Objects of deleted snapshots are trimmed at once. By default, an OSD on a
# disk waits 5 s after each, and they are listed meanwhile.
osd snap trim sleep hdd = 0
osd snap trim sleep hybrid = 0

[client]
keyring = {etc}/$cluster.$name.keyring
# No admin socket: its name holds a pid, so its length is not known.
admin socket =
log file = /dev/null
"""


def new_key() -> str:
    """Return a new cephx secret, of the type that this release of Ceph needs.

    Ceph 20.2.4 refuses the type of earlier releases (CVE-2025-30156).
    """
    command = ['ceph-authtool', '--gen-print-key']
    return subprocess.check_output(command, text=True).strip()


def keyring_section(name: str, key: str, caps: Caps) -> str:
    """Return the section of a client or daemon in a keyring file."""
    lines = [f'[{name}]', f'\tkey = {key}']
    lines += [f'\tcaps {kind} = "{cap}"' for kind, cap in caps.items()]
    return '\n'.join(lines) + '\n'
