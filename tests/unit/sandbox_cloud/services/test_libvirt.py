# SPDX-License-Identifier: Apache-2.0

import subprocess
from typing import cast

from sandbox_cloud.services import libvirt
from tests.unit.sandbox_cloud.services import base


class LibvirtTestCase(base.ServiceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.service = cast(libvirt.Libvirt, self.cloud.services['libvirt'])
        self.service.render()

    def test_sockets_are_in_the_state_folder(self) -> None:
        folder = str(self.state.run / 'virt-127.0.0.1')
        (host,) = self.service.hosts
        text = self.service.conf(host).read_text()
        self.assertIn(f'unix_sock_dir = "{folder}"\n', text)
        self.assertIn('listen_tcp = 0\n', text)
        uri = f'qemu+unix:///system?socket={folder}/libvirt-sock'
        self.assertEqual(uri, host.uri)

    def test_two_sandboxes_are_two_hosts(self) -> None:
        (host,) = self.service.hosts
        first = self.service.conf(host).read_text()
        (self.state.run / 'secrets' / 'libvirt-host').unlink()
        self.service.render()
        self.assertNotEqual(first, self.service.conf(host).read_text())

    def test_libvirtd_runs_in_namespaces_of_its_own(self) -> None:
        (program,) = self.service.programs()
        shim, folder, host, *daemon = program.command
        self.assertEqual(str(self.state.bin / 'with-libvirt'), shim)
        self.assertEqual(str(self.service.data), folder)
        self.assertEqual('sandbox', host)
        self.assertEqual('/usr/sbin/libvirtd', daemon[0])
        (first,) = self.service.hosts
        self.assertIn(str(self.service.conf(first)), daemon)
        subprocess.run(['sh', '-n', shim], check=True)

    def test_qemu_reads_its_configuration_where_libvirtd_looks(self) -> None:
        # with-libvirt mounts <folder>/etc at /etc/libvirt.
        conf = self.service.data / 'etc' / 'qemu.conf'
        self.assertIn('cgroup_controllers = []\n', conf.read_text())
        (program,) = self.service.programs()
        self.assertIn(conf, program.inputs)
