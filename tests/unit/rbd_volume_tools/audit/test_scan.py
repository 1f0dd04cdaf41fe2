# SPDX-License-Identifier: Apache-2.0

import argparse
import errno
import sys
from unittest import mock

from rbd_volume_options import ownership
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import reading
from rbd_volume_tools.audit import scan
from rbd_volume_tools.clean import leftovers
from rbd_volume_tools.command_line import ceph_arguments
from tests.unit import base
from tests.unit.rbd_volume_tools.audit import stubs


class ScanTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.pool = stubs.Pool('one', 'two', 'three')
        self.cluster = stubs.cluster(self.pool)
        checked = stubs.no_connection_left(self.pool)
        checked.__enter__()
        self.addCleanup(checked.__exit__, None, None, None)

    def test_full_cluster_rejects_changes_instead_of_blocking_them(
        self,
    ) -> None:
        with self.cluster.connected('volumes'):
            self.assertTrue(self.pool.is_full_try)

    def test_image_that_was_removed_meanwhile(self) -> None:
        # It is in the first list only, and cannot be opened.
        self.pool.errors['gone'] = stubs.ImageNotFound('gone')

        def forget(done: int, total: int) -> None:
            self.pool.errors.pop('gone', None)

        pool = self.cluster.scan('volumes', forget)
        self.assertEqual({}, pool.unreadable)

    def test_other_errors_end_it(self) -> None:
        self.pool.errors['bad'] = RuntimeError('made to fail')
        self.assertRaises(RuntimeError, self.cluster.scan, 'volumes')

    def test_cluster_that_does_not_respond(self) -> None:
        # The error is not about the image.
        lost = stubs.Error('timed out')
        lost.errno = errno.ETIMEDOUT  # type: ignore[attr-defined]
        self.pool.errors['bad'] = lost
        self.assertRaises(reading.NotRead, self.cluster.scan, 'volumes')

    def test_timeout_is_set_on_the_client(self) -> None:
        limited = stubs.cluster(self.pool, 7)
        limited.pools()
        self.assertEqual(
            {
                'client_mount_timeout': '7',
                'rados_mon_op_timeout': '7',
                'rados_osd_op_timeout': '7',
            },
            self.pool.options,
        )
        # Changes wait for the cluster, once it has responded.
        self.cluster.pools()
        self.assertEqual({'client_mount_timeout': '30'}, self.pool.options)

    def test_namespaces_that_may_not_be_read_are_named(self) -> None:
        with mock.patch.object(
            self.pool,
            'namespace_list',
            autospec=True,
            side_effect=stubs.PermissionError('namespaces'),
        ):
            scanned = self.cluster.scan('volumes')
        self.assertIn('namespaces', scanned.forbidden['/'])
        self.assertFalse(scanned.is_forbidden)

    def test_complete_image_that_cannot_be_opened_is_told_apart(self) -> None:
        """This host lacks a feature, or the parent of the image is lost."""
        self.pool.errors['new'] = stubs.Error('function not implemented')
        self.pool.objects['rbd_id.new'] = ownership.encoded('abc')
        self.pool.objects['rbd_header.abc'] = b''
        (broken,) = self.cluster.scan('volumes').unreadable.values()
        self.assertIs(findings.UNOPENABLE, broken.kind)
        self.assertNotIn(broken.kind, leftovers.TABLE)

    def test_name_of_an_image_in_the_trash_is_told_apart(self) -> None:
        self.pool.errors['half'] = stubs.ImageNotFound('no id')
        self.pool.omaps['rbd_directory'] = {
            'name_half': ownership.encoded('abc')
        }
        for source, kinds in ((0, [findings.HALF_TRASHED]), (3, [])):
            self.pool.omaps['rbd_trash'] = {
                'id_abc': stubs.trash_entry('half', source)
            }
            broken = self.cluster.scan('volumes').unreadable.values()
            self.assertEqual(kinds, [each.kind for each in broken])

    def test_pools_and_images_that_are_still_there(self) -> None:
        self.pool.errors['bad'] = stubs.Error('not supported')
        self.assertEqual(['volumes'], self.cluster.pools())
        names = ['two', 'four', 'bad']
        found = self.cluster.reread('volumes', names)
        self.assertEqual(
            {'two': True, 'bad': False},
            {name: bool(image) for name, image in found.items()},
        )


class OptionsTest(base.TestCase):
    def _parsed(self, *arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        ceph_arguments.add(parser)
        return parser.parse_args(arguments)

    def test_user_of_the_options_connects(self) -> None:
        pool = stubs.Pool()
        pool.refused = True
        parsed = self._parsed('--ceph-user', 'me', '--ceph-conf', 'c')
        with mock.patch.dict(sys.modules, {'rados': pool, 'rbd': pool}):
            cluster = scan.of_options(parsed, 7)
        error = self.assertRaises(scan.NotConnected, cluster.fsid)
        self.assertIn('as client.me with c', str(error))
        self.assertIn('7', pool.options.values())

    def test_missing_libraries_are_named_with_their_packages(self) -> None:
        with mock.patch.dict(sys.modules, {'rados': None}):
            error = self.assertRaises(
                RuntimeError, scan.of_options, self._parsed()
            )
        self.assertIn('Install python3-rados', str(error))
