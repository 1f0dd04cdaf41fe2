# SPDX-License-Identifier: Apache-2.0

"""Requests about the disk of a volume, which depends on its data."""

from typing import Any

from cinder.volume import rpcapi
import fixtures

from rbd_volume_options import keys
from rbd_volume_options import registry
from tests.unit.cinder_rbd_ext.api import base

_KEY = keys.SECTOR_SIZE
#: Method, path and body of a request.
_Call = tuple[str, str, Any]


class SectorSizeTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        settings = base.settings(
            tenant_options=frozenset(registry.volume_keys())
        )
        self.get_pools.return_value = [base.pool('rbd', settings)]

    def test_clone_cannot_have_another_sector_size(self) -> None:
        without_record = self.volume(status='available')
        large = self.volume(made={_KEY: '4096'}, status='available')
        for source, wanted in (
            (without_record, '512'),
            (large, '512'),
        ):
            self.refused(
                400,
                (f"{_KEY} = '{wanted}'", 'differs from the source volume'),
                'POST',
                '/volumes',
                self.create({_KEY: wanted}, source_volid=source.id),
            )
        self.ok(
            'POST',
            '/volumes',
            self.create({_KEY: '4096'}, source_volid=large.id),
        )

    def test_sector_size_of_a_volume_cannot_be_changed(self) -> None:
        volume = self.volume({_KEY: '4096'}, {_KEY: '4096'})
        for method, value in (('POST', '512'), ('POST', '512e')):
            self.refused(
                400,
                'fixed at creation',
                method,
                f'/volumes/{volume.id}/metadata',
                {'metadata': {_KEY: value}},
            )
        self.refused(
            400,
            'cannot be removed',
            'DELETE',
            f'/volumes/{volume.id}/metadata/{_KEY}',
        )

    def test_volume_of_4096_cannot_leave_our_driver(self) -> None:
        ours = self.get_pools.return_value[0]
        other = base.pool('rbd2', base.settings())
        self.get_pools.return_value = [ours, other, base.pool('fake')]
        words = (f"{_KEY} = '4096'", 'could not read', 'new volume')

        def migrated(volume: Any, **options: Any) -> _Call:
            path = f'/volumes/{volume.id}/action'
            return 'POST', path, {'os-migrate_volume': options}

        def retyped(
            volume: Any, name: str, policy: str = 'on-demand'
        ) -> _Call:
            body = {'new_type': name, 'migration_policy': policy}
            return 'POST', f'/volumes/{volume.id}/action', {'os-retype': body}

        large = self.volume(made={_KEY: '4096'})
        for wanted in (
            {'host': 'host@fake#fake'},
            {'host': 'host@fake#fake', 'force_host_copy': True},
            {'cluster': 'host@fake'},
            # A back end that has not reported yet.
            {'host': 'host@new#new'},
        ):
            self.refused(
                400, words, *migrated(large, **wanted), app=self.admin
            )
        for name in ('fake', 'any'):
            self.ok(*retyped(self.volume(), name))
            self.refused(400, words, *retyped(large, name))
        self.ok(*retyped(large, 'any', 'never'))
        for name, value in ('fake', '512e'), ('rbd2', '4096'):
            volume = self.volume(made={_KEY: value})
            host = f'host@{name}#{name}'
            self.assertNotIn(
                'could not read',
                self.call(*migrated(volume, host=host), app=self.admin).text,
            )
            self.ok(*retyped(volume, name))

    def test_volume_of_4096_is_made_bootable_only_by_a_type(self) -> None:
        large = self.volume(made={_KEY: '4096'})
        plain = self.volume()

        def request(volume: str, bootable: bool) -> tuple[str, str, object]:
            body = {'os-set_bootable': {'bootable': bootable}}
            return 'POST', f'/volumes/{volume}/action', body

        self.ok(*request(plain.id, bootable=True))
        self.ok(*request(large.id, bootable=False))
        self.refused(400, 'cannot boot', *request(large.id, bootable=True))
        self.refused(
            400,
            'cannot boot',
            'POST',
            f'/volumes/{large.id}/action',
            {'os-reimage': {'image_id': large.id}},
        )
        self.set_specs('rbd', rbd__boot_from_4096='true')
        self.ok(*request(large.id, bootable=True))

    def test_reimage_that_would_lose_data_is_refused(self) -> None:
        volume = self.volume()
        self.snapshot(volume)
        self.useFixture(
            fixtures.MonkeyPatch(
                'cinder_rbd_ext.releases.REIMAGE_KEEPS_IMAGE', False
            )
        )
        for each, reason in (
            (volume, 'has snapshots'),
            (self.volume(migration_status='migrating'), 'is being migrated'),
        ):
            self.refused(
                400,
                reason,
                'POST',
                f'/volumes/{each.id}/action',
                {'os-reimage': {'image_id': each.id}},
            )

    def test_reimage_that_a_limit_of_the_owner_makes_slow_is_refused(
        self,
    ) -> None:
        """It holds a thread of the service, which writes with the limit."""
        remove_export = self.mock_object(
            rpcapi.VolumeAPI, 'remove_export', autospec=True
        )
        key, value = 'rbd:write_bps_limit', str(1 << 20)
        made = {**base.MADE, key: value, 'rbd:accepted_write_bps_limit': '1M'}

        def reimage(volume: Any) -> _Call:
            body = {'os-reimage': {'image_id': volume.id}}
            return 'POST', f'/volumes/{volume.id}/action', body

        slow = self.volume({key: '1M'}, made)
        self.refused(400, f'slow: {key}. Remove them', *reimage(slow))
        remove_export.assert_not_called()
        # The key was removed while a change could not be in force.
        former = self.volume(made=made)
        response = self.call(*reimage(former))
        self.assertNotIn('Remove them first', response.text)
        remove_export.assert_called_once()
