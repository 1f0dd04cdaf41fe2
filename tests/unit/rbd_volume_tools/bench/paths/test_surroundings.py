# SPDX-License-Identifier: Apache-2.0

import dataclasses
import pathlib

from tests.unit.rbd_volume_tools.bench.paths import base


class SurroundingsTest(base.PathTestCase):
    def test_fill_without_cache(self) -> None:
        self.around.fill('disk', '--size=1M')
        arguments, env, *_ = self.fio.call_args[0]
        self.assertIn('--rbdname=disk', arguments)
        self.assertEqual('--size=1M', arguments[-1])
        conf = pathlib.Path(env['CEPH_CONF']).read_text()
        self.assertIn('rbd_cache = false', conf)

    def test_written_configuration_includes_the_original(self) -> None:
        conf = self.folder / 'east.conf'
        conf.write_text('[global]\nfsid = 1\n[client.me]\nrbd_cache = true')
        target = dataclasses.replace(self.around.target, conf=conf)
        around = dataclasses.replace(self.around, target=target)
        not_encrypted = (
            'ms_client_mode = crc secure\nms_mon_client_mode = crc secure\n'
        )
        plain = around.conf(cache=False, secure=False)
        secure = around.conf(cache=True, secure=True)
        self.assertNotEqual(plain, secure)
        # Ceph takes the cluster's name from the file name.
        self.assertEqual('east.conf', plain.name)
        text = plain.read_text()
        self.assertTrue(text.startswith('[global]\nfsid = 1\n'))
        self.assertTrue(
            text.endswith(f'[client.me]\nrbd_cache = false\n{not_encrypted}')
        )
        self.assertIn(
            'rbd_cache = true\nms_client_mode = secure\n', secure.read_text()
        )
        self.assertEqual(plain, around.conf(cache=False, secure=False))
