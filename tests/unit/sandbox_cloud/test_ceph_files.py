# SPDX-License-Identifier: Apache-2.0

import base64
import pathlib
import socket
import struct

from sandbox_cloud import ceph_conf
from sandbox_cloud import ceph_files
from sandbox_cloud import errors
from tests.unit import base


class CephFilesTestCase(base.TestCase):
    def test_a_long_path_is_refused_before_anything_is_made(self) -> None:
        root = pathlib.Path('/tmp') / ('x' * 100)
        files = ceph_files.CephFiles(root)
        error = self.assertRaises(errors.SandboxError, files.prepare)
        self.assertIn('107', str(error))
        self.assertFalse(root.exists())

    def test_free_ports_differ_and_are_free(self) -> None:
        ports = ceph_files.free_ports(3)
        self.assertEqual(3, len(set(ports)))
        for port in ports:
            with socket.socket() as sock:
                sock.bind(('127.0.0.1', port))

    def test_a_key_is_what_cephx_expects(self) -> None:
        raw = base64.b64decode(ceph_conf.new_key())
        kind, _, _, length = struct.unpack('<hiih', raw[:12])
        # AES with 128 bits, or with 256 bits from Ceph 20.2.4.
        self.assertIn((kind, length), ((1, 16), (2, 32)))
        self.assertEqual(length, len(raw[12:]))
