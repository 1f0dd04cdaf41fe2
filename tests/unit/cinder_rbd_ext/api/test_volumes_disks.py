# SPDX-License-Identifier: Apache-2.0

"""Requests about the disk of a volume, which depends on its data."""

from rbd_volume_options import definitions
from rbd_volume_options import keys
from tests.unit.cinder_rbd_ext.api import base

_KEY = keys.SECTOR_SIZE


class SectorSizeTest(base.ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        settings = base.settings(
            tenant_options=frozenset(definitions.volume_keys())
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
