# SPDX-License-Identifier: Apache-2.0

import fcntl
import os
import pathlib
import stat

import fixtures

from sandbox_cloud import errors
from sandbox_cloud import packages
from sandbox_cloud import state
from tests.unit import base

_TEXT = """\
# A comment, sandbox or not.
ceph-mon [platform:dpkg sandbox test]
memcached [platform:dpkg sandbox]  # sandbox only
gcc [platform:dpkg build]
libvirt-daemon-driver-secret [platform:debian-trixie sandbox]

git [sandbox-like]
"""


class WantedTestCase(base.TestCase):
    def test_a_profile_of_several(self) -> None:
        self.assertEqual(['ceph-mon'], packages.wanted('test', _TEXT))

    def test_whole_words_and_no_comments(self) -> None:
        wanted = packages.wanted('sandbox', _TEXT, 'bookworm')
        self.assertEqual(['ceph-mon', 'memcached'], wanted)

    def test_package_of_one_release_of_debian(self) -> None:
        wanted = packages.wanted('sandbox', _TEXT, 'trixie')
        self.assertEqual('libvirt-daemon-driver-secret', wanted[-1])

    def test_our_own_list(self) -> None:
        text = (state.CHECKOUT / 'bindep.txt').read_text()
        sandbox = set(packages.wanted('sandbox', text))
        test = set(packages.wanted('test', text))
        self.assertIn('ceph-osd', test)
        # The sandbox does not need the packages for code checks, pages and
        # browser tests.
        checks = {'shellcheck', 'prometheus', 'jq'}
        only = {*checks, 'chromium', 'chromium-driver'}
        self.assertLess(test - only, sandbox)
        # Another release of Debian only gets what these tests need.
        functional = set(packages.wanted('functional', text))
        self.assertIn('python3-rbd', functional)
        self.assertLess(functional, test - only)


class NoDaemonsTestCase(base.TestCase):
    """Installation starts no daemons and keeps an existing policy."""

    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.policy = folder / 'policy-rc.d'
        self.useFixture(
            fixtures.MonkeyPatch('sandbox_cloud.packages._POLICY', self.policy)
        )

    def test_made_for_the_time_of_the_installation(self) -> None:
        with packages._no_daemons():
            self.assertIn('exit 101', self.policy.read_text())
            mode = stat.S_IMODE(self.policy.stat().st_mode)
            self.assertEqual(0o755, mode)
        self.assertFalse(self.policy.exists())

    def test_removed_when_the_installation_fails(self) -> None:
        def fail() -> None:
            with packages._no_daemons():
                raise RuntimeError

        self.assertRaises(RuntimeError, fail)
        self.assertFalse(self.policy.exists())

    def test_one_that_exists_is_kept(self) -> None:
        self.policy.write_text('#!/bin/sh\nexit 101\n')
        self.policy.chmod(0o755)
        with packages._no_daemons():
            pass
        self.assertTrue(self.policy.exists())

    def test_one_that_cannot_run_is_refused(self) -> None:
        self.policy.write_text('')
        self.policy.chmod(0o644)

        def enter() -> None:
            with packages._no_daemons():
                self.fail('would have started daemons')

        error = self.assertRaises(errors.SandboxError, enter)
        self.assertIn(str(self.policy), str(error))


class AloneTestCase(base.TestCase):
    def test_a_second_installation_waits(self) -> None:
        folder = self.useFixture(fixtures.TempDir()).path
        self.useFixture(
            fixtures.MonkeyPatch(
                'sandbox_cloud.packages._DPKG', pathlib.Path(folder)
            )
        )
        other = os.open(folder, os.O_RDONLY)
        self.addCleanup(os.close, other)
        with packages._alone():
            self.assertRaises(
                BlockingIOError,
                *(fcntl.flock, other, fcntl.LOCK_EX | fcntl.LOCK_NB),
            )
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
