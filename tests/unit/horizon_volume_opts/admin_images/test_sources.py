# SPDX-License-Identifier: Apache-2.0

"""RBD images from the attributes of volumes, read page by page."""

from unittest import mock

from cinderclient import exceptions
import ddt
from openstack_dashboard import api

from horizon_volume_opts.admin_images import audit
from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import listing
from horizon_volume_opts.admin_images import sources
from tests.unit import base
from tests.unit.horizon_volume_opts.admin_images import fake_cinder

_MAP = ['exclusive-lock', 'fast-diff', 'layering', 'object-map']
_BARE = ['layering']
_STATE = images.MapState


class SourceTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = fake_cinder.Client()
        patch = mock.patch.object(
            api.cinder, 'cinderclient', autospec=True, return_value=self.cinder
        )
        patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(
            api.keystone,
            'tenant_list',
            autospec=True,
            return_value=([fake_cinder.Thing(id='p', name='demo')], False),
        )
        self.projects = patch.start()
        self.addCleanup(patch.stop)

    def have(self, *volumes: fake_cinder.Thing) -> None:
        self.cinder.volumes.all.extend(volumes)

    def read(self, listed: listing.Listing | None = None) -> listing.Listing:
        listed = listed or sources.begin(mock.sentinel.request)
        sources.read(mock.sentinel.request, listed)
        return listed


@ddt.ddt
class ReadTestCase(SourceTestCase):
    def test_with_a_map_and_without(self) -> None:
        self.have(
            fake_cinder.volume(_MAP),
            fake_cinder.volume(_BARE, layout=(1 << 20, 65536, 8)),
            fake_cinder.volume(_MAP, data_pool='ec', volume_type=None),
        )
        listed = self.read()
        counts = {
            (row.volume_type, state.value): number
            for row in census.map_rows(listed.rbd_images)
            for state, number in row.counts.items()
            if number
        }
        self.assertEqual(
            {
                ('rbd', 'unchecked'): 1,
                ('rbd', 'none'): 1,
                ('', 'unchecked'): 1,
            },
            counts,
        )
        self.assertEqual(
            ['', '', 'ec'],
            sorted(
                row.data_pool for row in census.layout_rows(listed.rbd_images)
            ),
        )
        self.assertTrue(listed.complete)
        self.assertEqual(0, listed.others)

    @ddt.data(True, False)
    def test_no_record_in_a_pool_of_ceph(self, loaded: bool) -> None:
        self.have(fake_cinder.volume(loaded=loaded))
        (row,) = census.map_rows(self.read().rbd_images)
        self.assertEqual(1, row.counts[_STATE.UNKNOWN])

    @ddt.data(
        {'pool': 'h@lvm#lvm'},
        {'pool': None},
        {'status': 'creating'},
        {'status': 'error'},
    )
    def test_no_image_of_rbd(self, fields: dict[str, str]) -> None:
        self.have(fake_cinder.volume(**fields))  # type: ignore[arg-type]
        listed = self.read()
        self.assertEqual(0, len(listed.rbd_images))
        self.assertEqual(1, listed.others)

    def test_an_invalid_record_is_not_read(self) -> None:
        """The other images are listed, and this one has no layout."""
        self.have(
            fake_cinder.volume(_MAP),
            fake_cinder.volume(_MAP, layout=(-4096, 65536, 8)),
        )
        states = {each.map_state for each in self.read().rbd_images}
        self.assertEqual({_STATE.UNCHECKED, _STATE.UNKNOWN}, states)

    def test_a_record_counts_though_the_pool_is_not_reported(self) -> None:
        self.cinder.pools.protocols.clear()
        self.have(fake_cinder.volume(_MAP))
        self.assertEqual(1, len(self.read().rbd_images))


class PagesTestCase(SourceTestCase):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(sources, '_PAGE', 10)
        patch.start()
        self.addCleanup(patch.stop)
        self.have(*(fake_cinder.volume(_MAP) for _ in range(25)))

    def test_all_pages(self) -> None:
        listed = self.read()
        self.assertEqual(25, len(listed.rbd_images))
        self.assertTrue(listed.complete)
        self.assertEqual(3, self.cinder.volumes.requests)

    def test_a_last_page_that_is_full(self) -> None:
        del self.cinder.volumes.all[20:]
        listed = self.read()
        self.assertEqual(20, len(listed.rbd_images))
        self.assertTrue(listed.complete)

    def test_no_longer_than_a_page_may_take(self) -> None:
        with mock.patch.object(sources, 'BUDGET', -1):
            listed = self.read()
            self.assertEqual(10, len(listed.rbd_images))
            self.assertFalse(listed.complete)
            listed = self.read(listed)
            self.assertEqual(20, len(listed.rbd_images))
            self.assertFalse(listed.complete)
            listed = self.read(listed)
        self.assertEqual(25, len(listed.rbd_images))
        self.assertTrue(listed.complete)
        self.assertEqual(3, self.cinder.volumes.requests)

    def test_goes_on_after_a_volume_that_was_deleted(self) -> None:
        with mock.patch.object(sources, 'BUDGET', -1):
            listed = self.read()
            # The last two volumes that were read.
            del self.cinder.volumes.all[8:10]
            listed = self.read(listed)
            self.assertEqual(20, len(listed.rbd_images))
            # The whole last page, so that reading resumes after an older
            # volume.
            del self.cinder.volumes.all[8:18]
            listed = self.read(listed)
        self.assertEqual(25, len(listed.rbd_images))
        self.assertTrue(listed.complete)

    def test_all_that_were_read_are_deleted(self) -> None:
        with mock.patch.object(sources, 'BUDGET', -1):
            listed = self.read()
            del self.cinder.volumes.all[:10]
            listed = self.read(listed)
        self.assertEqual(20, len(listed.rbd_images))

    def test_pages_before_a_failure_remain(self) -> None:
        self.cinder.volumes.fails_after = 2
        listed = sources.begin(mock.sentinel.request)
        self.assertRaises(
            exceptions.ClientException,
            sources.read,
            mock.sentinel.request,
            listed,
        )
        self.assertEqual(20, len(listed.rbd_images))
        self.assertFalse(listed.complete)
        self.cinder.volumes.fails_after = 9
        self.assertEqual(25, len(self.read(listed).rbd_images))
        self.assertEqual(3, self.cinder.volumes.requests)


class AuditTestCase(SourceTestCase):
    def found(self, *volumes: fake_cinder.Thing) -> listing.Listing:
        self.have(*volumes)
        kinds = {'kind': 'slow-deletion', 'image': 'x'}
        report = audit.Report(
            states={'an-image': _STATE.VALID},
            findings={
                ident: [{**kinds, 'detail': ident}]
                for ident in ('', 'a-volume', 'an-image', 'gone')
            },
        )
        with mock.patch.object(
            audit, 'read', autospec=True, return_value=report
        ):
            return self.read()

    def test_of_a_migrated_volume(self) -> None:
        volume = fake_cinder.volume(_MAP, image_id='an-image')
        volume.id = 'a-volume'
        listed = self.found(volume)
        (image,) = listed.rbd_images
        self.assertIs(_STATE.VALID, image.map_state)
        self.assertEqual(('slow-deletion',), image.findings)
        self.assertEqual(
            ['', 'gone'], [each['detail'] for each in listed.other_findings]
        )

    def test_of_volumes_that_are_not_read_yet(self) -> None:
        with (
            mock.patch.object(sources, '_PAGE', 1),
            mock.patch.object(sources, 'BUDGET', -1),
        ):
            listed = self.found(fake_cinder.volume(_MAP))
        self.assertFalse(listed.complete)
        self.assertEqual(
            [''], [each['detail'] for each in listed.other_findings]
        )


class RowTestCase(SourceTestCase):
    def test_what_is_known_of_a_volume(self) -> None:
        volume = fake_cinder.volume(_MAP, name='one', data_pool='ec')
        self.have(volume)
        listed = self.read()
        (image,) = listed.rbd_images
        self.assertEqual(
            (volume.id, 'one', 'p', 1, 'h@rbd#rbd', 'ec'),
            (
                image.ident,
                image.name,
                image.project,
                image.size,
                image.pool,
                image.data_pool,
            ),
        )
        self.assertEqual({'p': 'demo'}, listed.projects)

    def test_without_keystone(self) -> None:
        self.projects.side_effect = OSError('no route')
        self.have(fake_cinder.volume(_MAP))
        listed = self.read()
        self.assertEqual(1, len(listed.rbd_images))
        self.assertEqual({}, listed.projects)
