# SPDX-License-Identifier: Apache-2.0

import base64
import dataclasses
from typing import Any

import ddt

from rbd_volume_options import errors
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.guest import cloud
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.rbd_volume_tools.bench.guest import fake_cloud

_WANTED = cloud.Wanted('fio', 'small')
_NAME = f'{images.PREFIX}1'


@ddt.ddt
class CloudTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.fake = fake_cloud.Cloud(fake_rados.Cluster('volumes'))
        self.cloud = self.connected()

    def connected(
        self, wanted: cloud.Wanted = _WANTED, pool: str = 'fsid/volumes'
    ) -> cloud.Cloud:
        made = cloud.Cloud(self.fake, wanted, pool)
        made.check()
        return made

    @ddt.data(
        ('image', '--server-image'),
        ('flavor', '--flavor'),
        ('network', '--network'),
    )
    @ddt.unpack
    def test_what_is_not_found(self, field: str, option: str) -> None:
        changed: dict[str, Any] = {field: 'other'}
        wanted = dataclasses.replace(_WANTED, **changed)
        error = self.assertRaises(errors.OptionError, self.connected, wanted)
        self.assertIn(f"{option} = 'other'", str(error))

    def test_server_boots_with_the_job_as_user_data(self) -> None:
        made = self.cloud.boot(_NAME, b'#!/bin/sh')
        self.assertEqual('none', made['networks'])
        self.assertEqual('fio-id', made['imageRef'])
        self.assertTrue(made['config_drive'])
        self.assertEqual(b'#!/bin/sh', base64.b64decode(made['user_data']))
        self.assertEqual('hashed', self.cloud.described(made)['host'])

    def test_server_on_a_network_without_user_data(self) -> None:
        wanted = dataclasses.replace(
            _WANTED, network='private', user_data=False
        )
        made = self.connected(wanted).boot(_NAME, b'')
        self.assertEqual([{'uuid': 'private-id'}], made['networks'])
        self.assertNotIn('user_data', made)
        self.assertNotIn('config_drive', made)

    def test_server_that_fails(self) -> None:
        self.fake.status = 'ERROR'
        error = self.assertRaises(
            processes.EngineError, self.cloud.boot, _NAME, b''
        )
        self.assertIn('no valid host', str(error))

    def test_volume_has_type_and_keys(self) -> None:
        wanted = dataclasses.replace(_WANTED, volume_type='fast')
        place = self.connected(wanted)
        ident = place.create_volume(_NAME, 2, {'rbd:object_size': '1M'})
        made = self.fake.volumes[ident]
        self.assertEqual(('fast', 2), (made['volume_type'], made['size']))
        self.assertEqual('1M', made['metadata']['rbd:object_size'])

    def test_refused_attachment_is_an_error(self) -> None:
        server = self.cloud.boot(_NAME, b'')['id']
        volume = self.cloud.create_volume(_NAME, 1, {})
        self.fake.refuse_attachment = True
        self.cloud.set_metadata(volume, 'rbd:cache_mode', 'none')
        error = self.assertRaises(
            processes.EngineError, self.cloud.attach, server, volume
        )
        self.assertIn('did not attach', str(error))
        # A detachment after that is no error.
        self.cloud.detach(server, volume)

    def test_only_what_a_run_created_is_removed(self) -> None:
        other = self.connected(pool='fsid/other')
        kept = [
            other.boot(_NAME, b'')['id'],
            self.cloud.boot(f'{images.PREFIX}2', b'')['id'],
        ]
        self.cloud.boot(_NAME, b'')
        self.cloud.create_volume(_NAME, 1, {})
        self.assertEqual({_NAME, f'{images.PREFIX}2'}, self.cloud.left())
        self.cloud.remove(_NAME)
        self.assertEqual(kept, list(self.fake.servers))
        self.assertEqual({}, self.fake.volumes)
        self.assertRaises(ValueError, self.cloud.remove, 'production')
