# SPDX-License-Identifier: Apache-2.0

import itertools
from typing import Any
import uuid

from cinder import exception
from cinder.db import api as db

from tests.unit.cinder_rbd_ext.api import base

_IMAGE = '11111111-0000-4000-8000-000000000000'
_SECTOR_SIZE = 'rbd:sector_size'
_WRONG_UNIT = {'rbd:stripe_unit': '2M', 'rbd:stripe_count': '2'}


class _Glance:
    """An image service with one image."""

    def __init__(self, **properties: Any) -> None:
        self.image = {
            'id': _IMAGE,
            'name': 'linux',
            'size': 1,
            'min_disk': 0,
            'status': 'active',
            'visibility': 'public',
            'properties': properties,
        }

    def show(self, context: Any, ident: str) -> base.Answer:
        if ident != _IMAGE:
            raise exception.ImageNotFound(image_id=ident)
        return dict(self.image)

    def detail(self, context: Any, filters: Any = None) -> list[Any]:
        return [self.image] if filters == {'name': 'linux'} else []

    @classmethod
    def of_a_server(cls, snapshot: Any) -> '_Glance':
        """Return Glance with an image of a server that boots from a volume."""
        return cls(
            block_device_mapping=[
                {'source_type': 'snapshot', 'snapshot_id': 'data'},
                {'source_type': 'volume', 'boot_index': 0},
                {
                    'source_type': 'snapshot',
                    'boot_index': 0,
                    'snapshot_id': snapshot,
                },
            ]
        )


class SourceTestCase(base.ApiTestCase):
    """Requests for volumes, by default without a type and a size."""

    def _refused(self, words: Any, metadata: Any, **values: Any) -> None:
        values.setdefault('volume_type', None)
        values.setdefault('size', None)
        body = self.create(metadata, **values)
        self.refused(400, words, 'POST', '/volumes', body)

    def _accepted(self, metadata: Any, **values: Any) -> None:
        values.setdefault('volume_type', None)
        values.setdefault('size', None)
        self.ok('POST', '/volumes', self.create(metadata, **values))

    def _glance(self, service: _Glance) -> None:
        for name in ('show', 'detail'):
            self.patch(
                f'cinder.image.glance.GlanceImageService.{name}',
                side_effect=getattr(service, name),
            )


class SourceTest(SourceTestCase):
    """POST volumes with snapshot_id, source_volid, backup_id, imageRef."""

    def test_source_volume_is_part_of_the_plan(self) -> None:
        source = self.volume(made=base.MADE, size=3)
        words = (
            'not a factor of the object size, 1 MiB',
            'the source has 1 MiB objects, 64 KiB x 8',
        )
        self._refused(words, _WRONG_UNIT, source_volid=source.id)
        self._refused(
            '3 GiB is not a multiple of 64 KiB x 7',
            {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '7'},
            source_volid=source.id,
        )
        more = {**_WRONG_UNIT, 'rbd:object_size': '4M'}
        self._accepted(more, source_volid=source.id)

    def test_source_snapshot_is_part_of_the_plan(self) -> None:
        source = self.volume(made=base.MADE)
        ident = self.snapshot(source)
        self._refused('the source has', _WRONG_UNIT, snapshot_id=ident)
        good = {'rbd:object_map': 'true'}
        self._accepted(good, snapshot_id=ident)

    def test_type_of_the_source(self) -> None:
        source = self.volume(volume_type='fake')
        words = 'no back end of the volume type'
        good = {'rbd:object_map': 'true'}
        self._refused(words, good, source_volid=source.id)
        ident = self.snapshot(source)
        self._refused(words, good, snapshot_id=ident)

    def test_stock_volume_of_which_nothing_is_known(self) -> None:
        source = self.volume()
        unit = {'rbd:stripe_unit': '32M', 'rbd:stripe_count': '2'}
        self._accepted(unit, source_volid=source.id)
        self._refused(
            'a power of two', {'rbd:object_size': '3M'}, source_volid=source.id
        )

    def test_size_of_backup_is_part_of_the_plan(self) -> None:
        backup = db.backup_create(
            self.admin_context,
            {
                'size': 2048,
                'status': 'available',
                'project_id': self.app.project,
                'user_id': 'u',
                'volume_id': str(uuid.uuid4()),
            },
        )
        metadata = {'rbd:object_size': '4K', 'rbd:object_map': 'true'}
        self._refused('256,000,000', metadata, backup_id=backup['id'])

    def test_volume_from_glance_image_is_checked_without_source(self) -> None:
        self._glance(_Glance())
        bad = {'rbd:object_size': '3M'}
        unit = {'rbd:stripe_unit': '32M', 'rbd:stripe_count': '2'}
        for reference in (_IMAGE, 'linux', f'http://glance/images/{_IMAGE}'):
            self._refused('a power of two', bad, size=1, imageRef=reference)
            self._accepted(unit, size=1, imageRef=reference)
        self._refused('Invalid image', unit, size=1, imageRef='other')
        self._refused(
            'Invalid image', unit, size=1, imageRef=str(uuid.uuid4())
        )

    def test_image_without_data_is_refused_with_the_reason(self) -> None:
        """Cinder would say that it found no back end."""
        glance = _Glance()
        glance.image['size'] = 0
        self._glance(glance)
        values = {'size': 1, 'imageRef': _IMAGE}
        for volume_type in ('rbd', 'striped', 'both', None):
            for own in (None, {'rbd:object_map': 'true'}):
                self._refused(
                    'has 0 bytes', own, volume_type=volume_type, **values
                )
        self._accepted(None, volume_type='fake', **values)
        # Cinder says that it is not active.
        glance.image['status'] = 'queued'
        self._refused('not active', None, volume_type='rbd', **values)

    def test_image_of_a_server_has_the_data_of_its_snapshot(self) -> None:
        glance = _Glance.of_a_server(self.snapshot(self.volume()))
        glance.image['size'] = 0
        self._glance(glance)
        self._accepted(None, volume_type='rbd', imageRef=_IMAGE)

    def test_type_that_an_image_asks_for(self) -> None:
        self._glance(_Glance(cinder_img_volume_type='fake'))
        good = {'rbd:object_map': 'true'}
        words = 'no back end of the volume type'
        self._refused(words, good, size=1, imageRef=_IMAGE)
        body = self.create(good, volume_type=None)
        body['volume']['image_id'] = _IMAGE
        self.refused(400, words, 'POST', '/volumes', body, version='3.0')

    def test_what_is_not_there(self) -> None:
        ident = str(uuid.uuid4())
        for name in ('source_volid', 'snapshot_id', 'backup_id'):
            body = self.create({'rbd:object_map': 'true'}, **{name: ident})
            self.refused(404, ident, 'POST', '/volumes', body)

    def test_what_is_not_an_id_gets_stock_refusal(self) -> None:
        for name, metadata in itertools.product(
            ('source_volid', 'snapshot_id', 'backup_id'),
            (None, {'rbd:object_map': 'true'}),
        ):
            body = self.create(metadata, **{name: base.UNSTORABLE})
            self.refused(400, name, 'POST', '/volumes', body)

    def test_what_is_another_projects(self) -> None:
        source = self.volume(made=base.MADE)
        body = self.create(_WRONG_UNIT, source_volid=source.id)
        self.refused(
            404, source.id, 'POST', '/volumes', body, app=self.stranger
        )

    def test_several_at_once_are_left_to_cinder(self) -> None:
        source = self.volume(made=base.MADE)
        body = self.create(
            {'rbd:object_map': 'true'},
            source_volid=source.id,
            snapshot_id=self.snapshot(source),
        )
        self.refused(400, 'May specify only one', 'POST', '/volumes', body)

    def test_backup_that_cinder_ignores(self) -> None:
        """Before version 3.47, the request may have any value."""
        source = self.volume(made=base.MADE)
        unit = {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '7'}
        for value in (False, '', 0):
            for wrong, words, more in (
                (unit, 'not a multiple of 64 KiB x 7', {}),
                (_WRONG_UNIT, 'the source has', {'source_volid': source.id}),
            ):
                body = self.create(wrong, **more)
                body['volume']['backup_id'] = value
                self.refused(
                    400, words, 'POST', '/volumes', body, version='3.46'
                )
            body = self.create({'rbd:object_map': 'true'})
            body['volume']['backup_id'] = value
            self.ok('POST', '/volumes', body, version='3.46')

    def test_image_id_that_is_null(self) -> None:
        """It replaces imageRef: Cinder creates an empty volume."""
        self._glance(_Glance())
        unit = {'rbd:stripe_unit': '32M', 'rbd:stripe_count': '2'}
        body = self.create(unit, imageRef=_IMAGE)
        body['volume']['image_id'] = None
        words = 'not a factor of the object size'
        self.refused(400, words, 'POST', '/volumes', body, version='3.0')
        body['volume']['metadata'] = {'rbd:object_map': 'true'}
        self.ok('POST', '/volumes', body)


class NovaImageTest(SourceTestCase):
    """Images that Nova made from a server that boots from a volume.

    Since version 3.46, Cinder creates the volume from the snapshot.
    """

    def setUp(self) -> None:
        super().setUp()
        self.set_specs('striped', rbd__stripe_unit='1M', rbd__stripe_count='3')
        self.source = self.volume(made=base.MADE, volume_type='striped')
        self._glance(_Glance.of_a_server(self.snapshot(self.source)))

    def test_reimage_with_data_of_another_sector_size_is_refused(self) -> None:
        self.set_specs('rbd', rbd__boot_from_4096='true')
        sizes = (None, '512', '512e', '4096')
        volumes = {
            size: self.volume(made={_SECTOR_SIZE: size} if size else None)
            for size in sizes
        }
        for written, of_target in itertools.product(sizes, sizes):
            snapshot = self.snapshot(volumes[written])
            self._glance(_Glance.of_a_server(snapshot))
            response = self.call(
                'POST',
                f'/volumes/{volumes[of_target].id}/action',
                {'os-reimage': {'image_id': _IMAGE}},
            )
            is_refused = 'could not read' in response.text
            expected = '4096' in (written, of_target) and written != of_target
            self.assertEqual(expected, is_refused, response.text)
            if is_refused:
                self.assertEqual(400, response.status_int)
                self.assertIn(_SECTOR_SIZE, response.text)

    def test_reimage_leaves_snapshot_that_is_not_an_id_to_cinder(self) -> None:
        volume = self.volume()
        self._glance(_Glance.of_a_server(base.UNSTORABLE))
        response = self.call(
            'POST',
            f'/volumes/{volume.id}/action',
            {'os-reimage': {'image_id': _IMAGE}},
        )
        self.assertLess(response.status_int, 500, response.text)

    def test_layout_of_nova_image_is_part_of_the_plan(self) -> None:
        for reference in (_IMAGE, 'linux'):
            self._refused(
                'the source has',
                _WRONG_UNIT,
                imageRef=reference,
                volume_type='rbd',
            )
        self._accepted(
            {'rbd:object_map': 'true'}, imageRef=_IMAGE, volume_type='rbd'
        )

    def test_type_and_size_of_the_snapshot(self) -> None:
        words = '1 GiB is not a multiple of 1 MiB x 3'
        self._refused(words, None, imageRef=_IMAGE)
        self._accepted(None, imageRef=_IMAGE, size=3)

    def test_snapshot_in_the_request(self) -> None:
        """Cinder uses the snapshot of the image."""
        other = self.snapshot(self.volume())
        values = {'snapshot_id': other, 'imageRef': _IMAGE}
        self._refused('the source has', _WRONG_UNIT, **values, size=1)
        self._refused('not a multiple', None, **values)

    def test_older_version(self) -> None:
        """Cinder creates the volume from the image."""
        unit = {'rbd:stripe_unit': '32M', 'rbd:stripe_count': '2'}
        body = self.create(unit, imageRef=_IMAGE)
        self.ok('POST', '/volumes', body, version='3.45')
        words = 'not a factor of the object size, 1 MiB'
        self.refused(400, words, 'POST', '/volumes', body, version='3.46')

    def test_snapshot_that_does_not_exist(self) -> None:
        for ident in (str(uuid.uuid4()), None):
            self._glance(_Glance.of_a_server(ident))
            for keys in (None, _WRONG_UNIT):
                body = self.create(
                    keys, imageRef=_IMAGE, size=None, volume_type='striped'
                )
                words = 'Nova specific image is found'
                self.refused(404, words, 'POST', '/volumes', body)

    def test_mapping_that_cinder_cannot_read(self) -> None:
        mappings: tuple[Any, ...] = (5, ['x'], 'x', {})
        for mapping in mappings:
            self._glance(_Glance(block_device_mapping=mapping))
            body = self.create({'rbd:object_size': '3M'}, imageRef=_IMAGE)
            self.refused(400, 'a power of two', 'POST', '/volumes', body)

    def test_image_that_cinder_cannot_read(self) -> None:
        """Its block_device_mapping is not JSON, for example."""
        for name in ('show', 'detail'):
            self.patch(
                f'cinder.image.glance.GlanceImageService.{name}',
                side_effect=ValueError,
            )
        self._refused('Invalid image', None, imageRef=_IMAGE, size=1)
        self._refused('Invalid image', _WRONG_UNIT, imageRef=_IMAGE, size=1)

    def test_policy_of_stock_route_applies(self) -> None:
        """Cinder checks volume:create, not volume:create_from_image."""
        self.override_policies(**{'volume:create_from_image': '!'})
        values = {'imageRef': _IMAGE, 'volume_type': 'rbd'}
        self._accepted({'rbd:object_map': 'true'}, **values)
        self._refused('the source has', _WRONG_UNIT, **values)
        self._glance(_Glance())
        body = self.create({'rbd:object_map': 'true'}, imageRef=_IMAGE)
        words = 'volume:create_from_image'
        self.refused(403, words, 'POST', '/volumes', body)
