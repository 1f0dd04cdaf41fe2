# SPDX-License-Identifier: Apache-2.0

"""A scratch tree with DevStack's files before the plug-in runs."""

from __future__ import annotations

import os
import pathlib
import subprocess

from tests import tree

_RUNNER = tree.ROOT / 'tests' / 'devstack' / 'run_phase.sh'

#: As written by lib/cinder and lib/cinder_backends/ceph, with a second back
#: end that does not use Ceph.
CINDER_CONF = """\
[DEFAULT]
default_volume_type = ceph
enabled_backends = ceph,lvmdriver-1
my_ip = 192.0.2.1
osapi_volume_extension = cinder.api.contrib.standard_extensions
rpc_response_timeout = 120

[database]
connection = mysql+pymysql://root:secret@127.0.0.1/cinder?charset=utf8

[ceph]
rbd_max_clone_depth = 5
rbd_flatten_volume_from_snapshot = False
rbd_secret_uuid = 6a2ee6d3-7a2a-4b9a-9c0e-6e7d3d6f2c11
rbd_user = cinder
rbd_pool = volumes
rbd_ceph_conf = /etc/ceph/ceph.conf
volume_driver = cinder.volume.drivers.rbd.RBDDriver
volume_backend_name = ceph

[lvmdriver-1]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
volume_backend_name = lvmdriver-1

[nova]
region_name = RegionOne
"""

#: Excerpts of glance-api.conf, as written by devstack-plugin-ceph with and
#: without GLANCE_ENABLE_MULTIPLE_STORES.
SEVERAL_STORES = """\
[DEFAULT]
show_multiple_locations = True
enabled_backends = robust_rbd:rbd,fast:file

[glance_store]
default_backend = robust_rbd

[robust_rbd]
rbd_store_pool = images
rbd_store_user = glance
rbd_store_ceph_conf = /etc/ceph/ceph.conf

[os_glance_staging_store]
filesystem_store_datadir = /opt/stack/data/os_glance_staging_store/

[os_glance_tasks_store]
filesystem_store_datadir = /opt/stack/data/os_glance_tasks_store/
"""
ONE_STORE = """\
[DEFAULT]
show_multiple_locations = True

[glance_store]
rbd_store_pool = images
rbd_store_user = glance
rbd_store_ceph_conf = /etc/ceph/ceph.conf
stores = file, http, rbd
default_store = rbd
filesystem_store_datadir = /opt/stack/data/glance/images/
"""

_NOVA_CONF = """\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver

[libvirt]
disk_cachemodes = network=writeback
images_type = rbd
"""
_TEMPEST_CONF = """\
[volume]
storage_protocol = ceph
volume_size = 1

[service_available]
cinder = True
"""

_FILES = {
    'etc/cinder/cinder.conf': CINDER_CONF,
    'etc/glance/glance-api.conf': SEVERAL_STORES,
    'etc/nova/nova.conf': _NOVA_CONF,
    'etc/nova/nova-cpu.conf': _NOVA_CONF,
    'tempest/etc/tempest.conf': _TEMPEST_CONF,
    'horizon/openstack_dashboard/local/enabled/__init__.py': '',
}

# Stubs of programs that would change a cloud. The client knows the types that
# it created. As in a cloud, the first report of the back ends is delayed.
_PROGRAMS = {
    'openstack': """\
for name; do :; done
case "$*" in
    *"volume type show"*) grep -qx -- "$name" "$TREE/types" ;;
    *"volume type create"*) echo "$name" >> "$TREE/types" ;;
esac
""",
    'cinder-rbd-ext': """\
[ -e "$TREE/reported" ] && echo 'ceph ceph there '
: > "$TREE/reported"
""",
    'glance-manage': '',
}


class DevStackTree:
    """A scratch tree and the phases that run on it."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.calls_file = root / 'calls'
        for name, text in _FILES.items():
            self.write(name, text)
        for name, text in _PROGRAMS.items():
            start = f'#!/bin/sh\nTREE={root}\necho "{name} $*" >> "$CALLS"\n'
            program = self.write(f'bin/{name}', start + text)
            program.chmod(0o755)
        self.write('types', '')

    def write(self, name: str, text: str) -> pathlib.Path:
        """Write a file of the tree."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name: str) -> str:
        """Return the text of a file of the tree."""
        return (self.root / name).read_text()

    def run(
        self, mode: str, phase: str = '', **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a phase; variables stand for the settings of local.conf."""
        return subprocess.run(
            [_RUNNER, self.root, mode, phase],
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def stack(self, **environ: str) -> None:
        """Run all phases of stack.sh."""
        for phase in (
            *('pre-install', 'install', 'post-config'),
            *('extra', 'test-config'),
        ):
            self.check('stack', phase, **environ)

    def check(self, mode: str, phase: str = '', **environ: str) -> str:
        """Run a phase that must succeed; return its output."""
        done = self.run(mode, phase, **environ)
        if done.returncode:
            raise AssertionError(f'{mode} {phase}: {done.stdout}')
        return done.stdout

    def calls(self) -> list[str]:
        """Return the recorded calls that have effects outside the tree."""
        return self.calls_file.read_text().splitlines()

    def snapshot(self) -> dict[str, str]:
        """Return the files that phases may change, by name."""
        return {
            str(path.relative_to(self.root)): path.read_text()
            for folder in ('etc', 'horizon', 'tempest')
            for path in sorted((self.root / folder).rglob('*'))
            if path.is_file()
        }
