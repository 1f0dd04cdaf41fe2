# SPDX-License-Identifier: Apache-2.0

"""Layout and features on each path that creates a volume."""

from typing import Any

from tempest import config
from tempest.common import waiters
from tempest.lib import decorators

from rbd_tempest_plugin.tests import base

CONF = config.CONF


class CreationTest(base.RBDVolumeTest):
    """Empty volumes, and volumes from volumes and snapshots."""

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('75233ea8-b3b2-4a61-855c-554054e22fbf')
    def test_striped_volume_with_object_map(self) -> None:
        """A striped volume with an object map is created as requested."""
        self.assert_striped(self.create_striped())

    @decorators.idempotent_id('8a7275ab-8ab7-437e-b2ca-0c3933da0738')
    def test_create_as_the_type_says(self) -> None:
        """A volume has the options of its type."""
        volume = self.create_volume(volume_type=self.make_type(self.asked))
        self.assert_striped(volume['id'])

    @decorators.idempotent_id('15dfcbd1-6ce8-4173-83ce-a643415c1d24')
    def test_create_asking_nothing(self) -> None:
        """A volume is not striped if neither it nor its type requests it."""
        volume = self.create_volume(volume_type=self.make_type({}))
        self.assertEqual(1, self.attributes(volume['id'])['stripe_count'])

    @decorators.idempotent_id('38aca148-595a-4f0a-b757-a7bf43828459')
    def test_create_from_snapshot(self) -> None:
        """A volume from a snapshot is created as requested."""
        plain = self.make_type({})
        source = self.create_volume(volume_type=plain)
        snapshot = self.create_snapshot(source['id'])
        volume = self.create_striped(snapshot_id=snapshot['id'])
        self.assert_striped(volume)

    @decorators.idempotent_id('6fe2993a-f276-4bce-a9a4-ae666f82890b')
    def test_create_from_snapshot_inherits(self) -> None:
        """A volume from a snapshot has its source's layout by default."""
        source = self.create_striped()
        snapshot = self.create_snapshot(source)
        volume = self.create_volume(
            snapshot_id=snapshot['id'],
            volume_type=self._type_of(source),
        )
        self.assert_striped(volume['id'])

    @decorators.idempotent_id('b4d2b3e5-7d0c-4e41-b2d7-f5eea4f00450')
    def test_create_from_volume(self) -> None:
        """A clone is created as requested."""
        source = self.create_volume(volume_type=self.volume_type['name'])
        self.assert_striped(self.create_striped(source_volid=source['id']))

    @decorators.idempotent_id('d6f299ba-e1a5-489f-910c-fa21021b6e58')
    def test_create_from_volume_inherits(self) -> None:
        """A clone has its source's layout by default."""
        source = self.create_striped()
        volume = self.create_volume(
            source_volid=source, volume_type=self._type_of(source)
        )
        self.assert_striped(volume['id'])

    def _type_of(self, volume: str) -> Any:
        shown = self.volumes_client.show_volume(volume)['volume']
        return shown['volume_type']

    @decorators.idempotent_id('2297f9c5-02c4-416b-a93f-de056ae929a3')
    def test_extend_keeps_layout(self) -> None:
        """An extended volume keeps its layout."""
        volume = self.create_striped()
        size = CONF.volume.volume_size + CONF.volume.volume_size_extend
        self.volumes_client.extend_volume(volume, new_size=size)
        waiters.wait_for_volume_resource_status(
            self.volumes_client, volume, 'available'
        )
        shown = self.volumes_client.show_volume(volume)['volume']
        self.assertEqual(size, shown['size'])
        self.assert_striped(volume)


class CreationFromImageTest(base.RBDVolumeTest):
    """Volumes from a Glance image."""

    @classmethod
    def skip_checks(cls) -> None:
        """Skip if Glance is not available."""
        super().skip_checks()
        if not CONF.service_available.glance:
            raise cls.skipException('Glance is not available')

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('0ba57995-0688-494f-a90c-1f29d1ee828b')
    def test_create_from_image(self) -> None:
        """A volume from a Glance image is created as requested."""
        volume = self.create_striped(imageRef=CONF.compute.image_ref)
        self.assert_striped(volume)

    @decorators.idempotent_id('19dae4e5-4a2a-4fd7-860f-20ffbc86a197')
    def test_create_from_image_as_the_type_says(self) -> None:
        """A volume from a Glance image has the options of its type."""
        volume = self.create_volume(
            imageRef=CONF.compute.image_ref,
            volume_type=self.make_type(self.asked),
        )
        self.assert_striped(volume['id'])


class BackupTest(base.RBDVolumeTest):
    """Base class of tests with backups."""

    @classmethod
    def skip_checks(cls) -> None:
        """Skip if backups are not available."""
        super().skip_checks()
        if not CONF.volume_feature_enabled.backup:
            raise cls.skipException('Cinder backup feature disabled')


class RestoreTest(BackupTest):
    """Backups that are restored to existing volumes."""

    @decorators.idempotent_id('aaf55136-b589-4b1f-a0af-d5eb911e5604')
    def test_restore_into_a_volume(self) -> None:
        """A volume keeps its layout when a backup is restored to it."""
        source = self.create_volume(volume_type=self.volume_type['name'])
        backup = self.create_backup(source['id'])
        target = self.create_striped()
        self.backups_client.restore_backup(backup['id'], volume_id=target)
        for client, ident in (
            (self.backups_client, backup['id']),
            (self.volumes_client, target),
        ):
            waiters.wait_for_volume_resource_status(client, ident, 'available')
        self.assert_striped(target)


class CreationFromBackupTest(BackupTest):
    """New volumes from backups, possible since microversion 3.47."""

    volume_min_microversion = '3.47'

    @decorators.idempotent_id('97e27fc2-4ff0-49bd-974b-45d88b363f9d')
    def test_create_from_backup(self) -> None:
        """A volume from a backup is created as requested."""
        source = self.create_volume(volume_type=self.volume_type['name'])
        backup = self.create_backup(source['id'])
        volume = self.create_striped(backup_id=backup['id'])
        self.assert_striped(volume)
