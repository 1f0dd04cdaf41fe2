# SPDX-License-Identifier: Apache-2.0

import datetime
from unittest import mock

from cinder.scheduler import rpcapi
from cinder.tests.unit import utils as cinder_utils
import ddt
import oslo_messaging

from cinder_rbd_ext.retype import marker
from cinder_rbd_ext.retype import swap
from cinder_rbd_ext.retype import trash
from rbd_volume_options import wire
from tests.fakes import fake_images
from tests.unit import base
from tests.unit.cinder_rbd_ext import base as driver_base

_VOLUME = '6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11'
_REQUEST = '0a1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b22'


@ddt.ddt
class OwnershipTest(base.TestCase):
    """A name alone does not prove that a retype made an image."""

    @ddt.data(
        (f'volume-{_VOLUME}.retyped-102ea3', '102ea3', _VOLUME),
        (f'volume-{_VOLUME}.retype-{_REQUEST}', '102ea3', _VOLUME),
        (f'volume-{_VOLUME}.retyped-102ea3', '99', None),
        (f'volume-{_VOLUME}', '102ea3', None),
        (f'volume-{_VOLUME}.retype-x', '102ea3', None),
        ('volume-x.retyped-102ea3', '102ea3', None),
    )
    @ddt.unpack
    def test_volume_of_an_entry_of_the_trash(
        self, name: str, ident: str, volume_id: str | None
    ) -> None:
        entry = {'name': name, 'id': ident}
        self.assertEqual(volume_id, trash.volume_id_of(entry))


class PurgeTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.image = mock.MagicMock()
        self.image.__enter__.return_value = self.image
        self.image.list_snaps.return_value = [{'name': 'a'}, {'name': 'b'}]
        self.driver = mock.Mock(spec_set=['rbd'])
        self.driver.rbd = mock.Mock(
            spec_set=['Image', 'ImageBusy', 'ImageNotFound', 'RBD', 'Timeout'],
            Image=mock.Mock(return_value=self.image),
            ImageBusy=fake_images.ImageBusy,
            ImageNotFound=fake_images.ImageNotFound,
            Timeout=fake_images.Timeout,
        )
        self.trash = [{'id': '102ea3'}]
        self.driver.rbd.RBD().trash_list.side_effect = lambda ioctx: [
            *self.trash
        ]
        self.ioctx = mock.Mock(spec_set=[])

    def test_client_that_was_killed_keeps_an_image_in_the_trash(self) -> None:
        """librbd tells the clients, also killed ones, about a removal."""
        self.image.remove_snap.side_effect = fake_images.Timeout('no answer')
        self.assertRaises(
            fake_images.ImageBusy,
            *(trash.purge, self.driver, '102ea3', self.ioctx),
        )

    def test_image_that_is_restored_meanwhile_keeps_its_snapshots(
        self,
    ) -> None:
        """An operator may need it at this moment."""
        self.image.remove_snap.side_effect = lambda name: self.trash.clear()
        trash.purge(self.driver, '102ea3', self.ioctx)
        self.image.remove_snap.assert_called_once_with('a')


def _located(place: tuple[str, str] | None) -> dict[str, str]:
    """Return the report of a back end with the images of a cluster's pool."""
    if place is None:
        return {}
    return {wire.LOCATION_INFO: f'ceph:ceph.conf:{place[0]}:user:{place[1]}'}


@ddt.ddt
class KeptSourceTest(driver_base.DriverTestCase):
    @ddt.data(
        (['a', 'b'], {'a': True, 'b': False}),
        (['a'], {'a': False}),
        (['a', 'c'], {'a': False, 'c': False}),
    )
    @ddt.unpack
    def test_only_the_last_one_has_its_time(
        self, ids: list[str], is_over: dict[str, bool]
    ) -> None:
        """The last one may be in another pool, or restored."""
        volume = self.new_volume()
        marker.note_kept(volume.id, 'b')
        entries = [
            {
                'id': image_id,
                'name': swap.kept_name(volume.name, image_id),
                'deferment_end_time': datetime.datetime(9999, 1, 1),
            }
            for image_id in ids
        ]
        with mock.patch.object(
            swap, 'run', autospec=True, return_value=entries
        ):
            kept = trash.kept(self.driver)
        self.assertEqual(is_over, {e.image_id: e.is_over for e in kept})

    def test_only_the_back_end_of_the_volume_may_need_its_kept_source(
        self,
    ) -> None:
        """The volume was migrated, or its host got another name.

        Another back end of the same pool may need it, too.
        """
        self.driver.host = 'here@ceph'
        pools = {
            'running@ceph#ceph': (self.cluster.fsid, 'volumes2'),
            'there@ceph2#ceph2': ('other', 'volumes'),
            'same@ceph3#ceph3': (self.cluster.fsid, 'volumes'),
            'there@lvm#lvm': None,
        }
        patch = mock.patch.object(rpcapi, 'SchedulerAPI', autospec=True)
        scheduler = patch.start().return_value
        self.addCleanup(patch.stop)
        scheduler.client = mock.create_autospec(
            oslo_messaging.rpc.client.RPCClient, instance=True
        )
        scheduler.get_pools.return_value = [
            {'name': name, 'capabilities': _located(place)}
            for name, place in pools.items()
        ]
        for host, is_needed in (
            ('here@ceph#ceph', True),
            ('former@ceph#ceph', True),
            ('running@ceph#ceph', False),
            ('there@ceph2#ceph2', False),
            ('same@ceph3#ceph3', True),
            ('there@lvm#lvm', False),
            ('unknown@ceph4#ceph4', True),
        ):
            volume = self.new_volume(host=host)
            if host.startswith('running'):
                cinder_utils.create_service(
                    self.admin,
                    {'host': host.partition('#')[0], 'binary': host},
                )
            entry = trash.Kept(
                'image',
                f'{volume.name}.retyped-image',
                True,
                volume.id,
                is_deleted=False,
            )
            self.assertEqual(
                is_needed, trash.is_needed(self.driver, entry), host
            )
        # The scheduler may not answer.
        scheduler.get_pools.side_effect = oslo_messaging.MessagingTimeout
        volume.host = 'there@lvm#lvm'
        volume.save()
        self.assertTrue(trash.is_needed(self.driver, entry))
