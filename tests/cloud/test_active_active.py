# SPDX-License-Identifier: Apache-2.0

"""Two volume services of one cluster (active-active)."""

from tests.cloud import base
from tests.cloud import clustered


class ActiveActiveTest(clustered.TwoServicesTestCase):
    """The API finds the back end of a volume by its cluster name."""

    def setUp(self) -> None:
        super().setUp()
        self.type = self.make_type(volume_backend_name=clustered.BACKEND)

    def _retyped(self, volume: str, name: str) -> bool:
        record = self.show(volume)
        done = record['volume_type'] == name
        return bool(done and record['status'] == 'available')

    def test_paths_metadata_and_retype(self) -> None:
        self._check_paths()
        self._check_metadata_and_retype()

    def _check_paths(self) -> None:
        volume = self.created(volume_type=self.type, metadata=base.ASKED)
        record = self.show(volume)
        host = record['os-vol-host-attr:host']
        self.assertTrue(host.startswith('sandbox-aa'), host)
        self.assertNotEqual(clustered.POOL, host)
        self.check_made(volume)
        clone = self.created(volume_type=self.type, source_volid=volume)
        self.check_made(clone)
        snapshot = self.snapshot(clone)
        copy = self.created(volume_type=self.type, snapshot_id=snapshot)
        self.check_made(copy)
        # The API finds layout and limits by the cluster name.
        odd = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '3'}
        striped = self.created(
            volume_type=self.type, size=3, metadata={**base.ASKED, **odd}
        )
        self.check_refused(
            400,
            'rbd:stripe_count',
            'POST',
            f'/volumes/{striped}/action',
            {'os-extend': {'new_size': 4}},
        )
        self.check_refused(
            400,
            'unsafe',
            'POST',
            '/os-volume-manage',
            {
                'volume': {
                    'host': host,
                    'ref': {'source-name': 'none'},
                    'volume_type': self.type,
                    'metadata': {'rbd:cache_mode': 'unsafe'},
                }
            },
            self.operator,
        )
        self.action(copy, **{'os-extend': {'new_size': 2}})
        self.until(lambda: self.show(copy)['size'] == 2)
        self.assertEqual(2**20, self.show(copy)[_MADE])

    def _check_metadata_and_retype(self) -> None:
        volume = self.created(volume_type=self.type, metadata=base.ASKED)
        path = f'/volumes/{volume}/metadata'
        for mode, status in (('none', 200), ('unsafe', 400)):
            body = {'metadata': {'rbd:cache_mode': mode}}
            response = self.respond('POST', path, body)
            self.assertEqual(status, response.status_code, response.text)
        other = self.make_type(
            volume_backend_name=clustered.BACKEND,
            rbd_tenant_options=','.join(base.ASKED),
        )
        action = f'/volumes/{volume}/action'
        body = {'os-retype': {'new_type': 'rbd2'}}
        self.check_refused(400, 'on-demand', 'POST', action, body)
        self.addCleanup(self.remove, volume)
        block = self.info(volume)['block_name_prefix']
        self.action(volume, **{'os-retype': {'new_type': other}})
        self.until(lambda: self._retyped(volume, other))
        self.assertEqual(block, self.info(volume)['block_name_prefix'])
        self.assertEqual(base.ASKED, self.metadata(volume))


_MADE = 'os-rbd-volume-options:object_size'
