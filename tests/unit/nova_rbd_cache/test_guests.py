# SPDX-License-Identifier: Apache-2.0

"""Test the lookup of a disk's guest in libvirt."""

from typing import Any

from nova import exception
from nova.virt.libvirt import host as libvirt_host

from nova_rbd_cache import guests
from tests.unit.nova_rbd_cache import base


class FindTest(base.NovaTestCase):
    def find(self, host: Any) -> guests.Guest | None:
        """Find the guest of the default attachment."""
        return guests.find(host, base.SERVER_ID)

    def test_what_it_has(self) -> None:
        driver = {'name': 'qemu', 'queues': '3'}
        host = base.FakeHost(base.guest_xml(2, driver))
        disk = guests.Disk(base.VOLUME_ID, driver)
        expected = guests.Guest(
            base.SERVER_ID, True, 2, {base.VOLUME_ID: disk}
        )
        self.assertEqual(expected, self.find(host))

    def test_stopped_and_without_anything(self) -> None:
        host = base.FakeHost(base.guest_xml(0), running=False)
        expected = guests.Guest(base.SERVER_ID, False, 0, {})
        self.assertEqual(expected, self.find(host))

    def test_not_there(self) -> None:
        self.assertIsNone(self.find(base.FakeHost()))


class NovaHostTest(base.NovaTestCase):
    """Nova's own host object, with Nova's fake libvirt."""

    def test_disk_of_a_guest_is_found_by_its_volume(self) -> None:
        self.use_libvirt()
        host = libvirt_host.Host('qemu:///system')
        self.assertIsNone(guests.find(host, base.SERVER_ID))
        domain = host.write_instance_config(
            f"""<domain type="kvm"><name>one</name>
            <uuid>{base.SERVER_ID}</uuid><memory>1</memory><vcpu>1</vcpu>
            <os><type>hvm</type></os><devices/></domain>"""
        )
        stopped = guests.find(host, base.SERVER_ID)
        self.assertFalse(stopped is None or stopped.running)
        domain.launch()
        running = guests.find(host, base.SERVER_ID)
        self.assertTrue(running and running.running)

    def _found_after(self, error_name: str) -> guests.Guest | None:
        """Find a guest whose XML libvirt refuses with an error."""
        self.use_libvirt()
        fakelibvirt = libvirt_host.libvirt
        code = getattr(fakelibvirt, error_name)
        error = fakelibvirt.make_libvirtError(
            fakelibvirt.libvirtError, 'gone', error_code=code
        )

        class Guest:
            def get_xml_desc(self) -> str:
                raise error

        host = libvirt_host.Host('qemu:///system')
        self.patch(host, 'get_guest', lambda instance: Guest())
        return guests.find(host, base.SERVER_ID)

    def test_guest_that_ends_after_its_lookup_is_not_found(self) -> None:
        self.assertIsNone(self._found_after('VIR_ERR_NO_DOMAIN'))

    def test_libvirt_that_fails_after_the_lookup_is_an_internal_error(
        self,
    ) -> None:
        self.assertRaises(
            exception.InternalError,
            self._found_after,
            'VIR_ERR_OPERATION_FAILED',
        )

    def test_lookup_that_libvirt_refuses_names_the_server(self) -> None:
        """libvirt is restarting."""
        self.use_libvirt()
        host = libvirt_host.Host('qemu:///system')
        fakelibvirt = libvirt_host.libvirt

        class Connection:
            def lookupByUUIDString(self, uuid: str) -> None:
                raise fakelibvirt.make_libvirtError(
                    fakelibvirt.libvirtError,
                    'cannot receive data',
                    error_code=fakelibvirt.VIR_ERR_INTERNAL_ERROR,
                )

        self.patch(host, 'get_connection', Connection)
        error = self.assertRaises(
            exception.InternalError, guests.find, host, base.SERVER_ID
        )
        self.assertIn(base.SERVER_ID, str(error))
        self.assertIn('cannot receive data', str(error))
