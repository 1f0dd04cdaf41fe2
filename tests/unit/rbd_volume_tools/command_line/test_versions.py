# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_tools.command_line import findings
from rbd_volume_tools.command_line import versions
from tests.unit import base
from tests.unit.rbd_volume_tools.doctor import hosts

_S = findings.Severity


@ddt.ddt
class VersionsTest(base.TestCase):
    @ddt.data(
        ('ceph version 16.2.15 (618f) pacific (stable)', None),
        ('ceph version 20.1.0~ds-1 (618f) tentacle (stable)', None),
        ('ceph version 15.2.17 (8a82) octopus (stable)', _S.WARNING),
        ('something else', _S.NOTICE),
        ('', _S.NOTICE),
    )
    @ddt.unpack
    def test_old_librbd_is_a_warning(
        self, shown: str, severity: _S | None
    ) -> None:
        finding = versions.check_librbd(hosts.Programs(rbd=shown))
        self.assertEqual(severity, finding.severity)

    @ddt.data(
        ('16.2.15', True),
        ('18.2.7', True),
        ('19.2.4', False),
        ('20.2.2', True),
        ('20.2.3', False),
        ('21.0.0', False),
    )
    @ddt.unpack
    def test_release_whose_deep_copy_can_crash_is_shown(
        self, version: str, is_shown: bool
    ) -> None:
        shown = f'ceph version {version} (618f) name (stable)'
        finding = versions.check_librbd(hosts.Programs(rbd=shown))
        self.assertIsNone(finding.severity)
        self.assertIs(is_shown, 'issues/77551' in finding.seen)

    def test_versions_of_qemu_and_libvirt_are_shown(self) -> None:
        run = hosts.Programs(
            qemu_kvm='QEMU emulator version 7.2.22 (Debian 1:7.2)',
            libvirtd='libvirtd (libvirt) 9.7.0',
        )
        checked = list(versions.check_host(run))
        self.assertEqual(['7.2.22', '9.7.0'], [each.seen for each in checked])

    @ddt.data(('9.6.0', True), ('9.7.0', False), ('11.3.0', False))
    @ddt.unpack
    def test_libvirt_without_discard_granularity_is_shown(
        self, version: str, is_shown: bool
    ) -> None:
        run = hosts.Programs(libvirtd=f'libvirtd (libvirt) {version}')
        shown = list(versions.check_host(run))[1]
        self.assertIsNone(shown.severity)
        self.assertIs(is_shown, 'rbd:discard_granularity' in shown.seen)

    def test_nothing_there(self) -> None:
        checked = versions.check_host(hosts.Programs())
        self.assertEqual(
            [('QEMU', _S.NOTICE), ('libvirt', _S.NOTICE)],
            hosts.problems(checked),
        )
