# SPDX-License-Identifier: Apache-2.0

"""Operations of users and operators on existing volumes."""

import subprocess
import time
import uuid

from tests.cloud import base
from tests.cloud import groups


class OperationsTest(base.CloudTestCase):
    """Operations on a volume preserve its layout and features.

    A requested cache mode does not block Cinder's own attachments.
    """

    def test_extended_volume_keeps_its_layout(self) -> None:
        volume = self.created(metadata=base.ASKED)
        self.action(volume, **{'os-extend': {'new_size': 2}})
        self.until(lambda: self.show(volume)['size'] == 2)
        self.assertEqual(2 * 2**30, self.check_made(volume)['size'])

    def test_revert_to_a_snapshot(self) -> None:
        volume = self.created(metadata=base.ASKED)
        snapshot = self.snapshot(volume)
        self.action(volume, revert={'snapshot_id': snapshot})
        time.sleep(1)
        self.wait_for(volume)
        self.check_made(volume)

    def test_backup_and_restore(self) -> None:
        volume = self.created(metadata=base.ASKED_WITH_MODE)
        answer = self.request(
            'POST', '/backups', {'backup': {'volume_id': volume}}
        )
        backup = answer['backup']['id']
        self.addCleanup(self.remove, backup, 'backups')
        self.wait_for(backup, kind='backups')
        made_of_it = self.created(backup_id=backup, metadata=base.ASKED)
        self.check_made(made_of_it)
        target = self.created(metadata=base.ASKED_WITH_MODE)
        self.request(
            'POST',
            f'/backups/{backup}/restore',
            {'restore': {'volume_id': target}},
        )
        self.wait_for(backup, kind='backups')
        self.wait_for(target)
        self.check_made(target)

    def test_migration_to_another_pool(self) -> None:
        self._check_migrated(*self._migrated(force=False))

    def _check_migrated(self, volume: str, pool: str) -> None:
        info = self.info(volume, pool)
        self.assertEqual(2**20, info['object_size'])
        self.assertEqual(65536, info['stripe_unit'])
        self.assertEqual(4, info['stripe_count'])
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        expected = 'volumes-data' if pool == 'volumes2' else None
        self.assertEqual(expected, info.get('data_pool'))

    def _migrated(self, force: bool) -> tuple[str, str]:
        """Return a migrated volume and its new pool."""
        # The largest stripe count that both back ends allow.
        metadata = {**base.ASKED_WITH_MODE, 'rbd:stripe_count': '4'}
        name = self.make_type(
            volume_backend_name='<or> rbd <or> rbd2',
            rbd_tenant_options=','.join(metadata),
        )
        volume = self.created(volume_type=name, metadata=metadata)
        host = self.show(volume)['os-vol-host-attr:host']
        pool, target = 'volumes2', 'sandbox@rbd2#rbd2'
        if host == target:
            pool, target = 'volumes', 'sandbox@rbd#rbd'
        self.action(
            volume,
            self.operator,
            **{
                'os-migrate_volume': {
                    'host': target,
                    'force_host_copy': force,
                }
            },
        )
        self.addCleanup(self.remove, volume)

        def migrated() -> bool:
            record = self.show(volume)
            if record['migration_status'] == 'error':
                raise AssertionError(record)
            return bool(
                record['os-vol-host-attr:host'] == target
                and record['migration_status'] == 'success'
            )

        self.until(migrated)
        return volume, pool

    def test_retype_to_another_layout(self) -> None:
        volume = self.created(metadata={'rbd:cache_mode': 'writeback'})
        name = self.make_type(
            rbd_stripe_unit='32K',
            rbd_stripe_count='4',
            rbd_tenant_options='rbd:cache_mode',
        )
        self._retype(volume, name, 'on-demand')
        info = self.info(volume)
        self.assertEqual(32768, info['stripe_unit'])
        self.assertEqual(4, info['stripe_count'])

    def test_retype_to_an_object_map_stays(self) -> None:
        plain = self.make_type(rbd_features='layering')
        volume = self.created(volume_type=plain)
        block = self.info(volume)['block_name_prefix']
        name = self.make_type(rbd_object_map='true')
        self._retype(volume, name, 'never')
        info = self.info(volume)
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        self.assertEqual(block, info['block_name_prefix'])

    def _retype(self, volume: str, name: str, policy: str) -> None:
        self.action(
            volume,
            self.operator,
            **{'os-retype': {'new_type': name, 'migration_policy': policy}},
        )
        # Volume types are deleted last, when they are no longer in use.
        self.addCleanup(self.remove, volume)

        def retyped() -> bool:
            record = self.show(volume)
            return bool(
                record['volume_type'] == name
                and record['status'] == 'available'
            )

        self.until(retyped)


class GroupsTest(groups.GroupTestCase):
    """Groups that are created from another group."""

    def test_group_from_a_group(self) -> None:
        group, volume = self.group_of_one()
        source = {'source_group_id': group}
        copy = self.created_group('/groups/action', 'create-from-src', source)
        (member,) = self.members(copy)
        self.assertNotEqual(volume, member)
        self.check_made(member)

    def test_group_whose_volumes_the_type_refuses(self) -> None:
        """The copies would not have the keys of the source volumes."""
        # 1 GiB is not a multiple of 12 MiB.
        thirds = self.make_type(rbd_stripe_unit='4M', rbd_stripe_count='3')
        group = self.group(thirds)
        eighths = {'rbd:stripe_unit': '4M', 'rbd:stripe_count': '8'}
        self.member(group, thirds, eighths)
        self.check_refused(
            400,
            '1 GiB is not a multiple of 4 MiB x 3',
            'POST',
            '/groups/action',
            {'create-from-src': {'name': 'test', 'source_group_id': group}},
        )


class ManageTest(base.CloudTestCase):
    """Management of an existing RBD image."""

    def test_managed_volume_has_attributes_of_its_image(self) -> None:
        name = f'found-{uuid.uuid4().hex[:8]}'
        command = ['rbd', 'create', '--size', '1G', '--object-size', '2M']
        command += ['--stripe-unit', '64K', '--stripe-count', '4']
        subprocess.run([*command, f'volumes/{name}'], check=True)
        answer = self.request(
            'POST',
            '/manageable_volumes',
            {
                'volume': {
                    'host': 'sandbox@rbd#rbd',
                    'ref': {'source-name': name},
                    'volume_type': 'rbd',
                }
            },
            self.operator,
        )
        volume = answer['volume']['id']
        self.addCleanup(self.remove, volume)
        self.wait_for(volume)
        self.assertEqual(4, self.info(volume)['stripe_count'])
