# SPDX-License-Identifier: Apache-2.0

"""Volumes that are retyped or migrated to another back end."""

from collections.abc import Iterator
import contextlib
from typing import Any

import rados
import rbd

from tests import rbd_content
from tests import runs
from tests.cloud import base

_MADE = 'os-rbd-volume-options:object_size'
_CONVERSION = 'os-rbd-volume-options:conversion'
# An extra spec that no back end uses. It makes two types differ, so that
# Cinder does not leave a migration to the driver.
_NOTE = {'provider:note': 'x'}


@contextlib.contextmanager
def opened(name: str, read_only: bool = True) -> Iterator[Any]:
    """Open an image."""
    with (
        rados.Rados(conffile='', rados_id='admin') as client,
        client.open_ioctx('volumes') as ioctx,
        rbd.Image(ioctx, name, read_only=read_only) as image,
    ):
        yield image


class RetypeTest(base.CloudTestCase):
    """A retype removes the keys that the new type does not accept."""

    def _retype(
        self, volume: str, name: str, policy: str = 'on-demand'
    ) -> str:
        """Retype a tenant's volume and return the warning of the response."""
        # Types are deleted last, when they are not in use.
        self.addCleanup(self.remove, volume)
        response = self._respond(volume, name, policy)
        self.assertEqual(202, response.status_code, response.text)
        self.until(lambda: self._retyped(volume, name))
        warning: str = response.headers.get('Warning', '')
        return warning

    def _respond(self, volume: str, name: str, policy: str) -> Any:
        body = {'os-retype': {'new_type': name, 'migration_policy': policy}}
        return self.respond('POST', f'/volumes/{volume}/action', body)

    def _retyped(self, volume: str, name: str) -> bool:
        record = self.show(volume)
        if record['migration_status'] == 'error':
            raise AssertionError(record)
        done = record['volume_type'] == name
        return bool(done and record['status'] == 'available')

    def _refused(self, words: str, volume: str, name: str) -> None:
        response = self._respond(volume, name, 'never')
        self.assertEqual(400, response.status_code, response.text)
        self.assertIn(words, response.text)
        self.assertEqual('available', self.show(volume)['status'])

    def _check_plain(self, volume: str) -> None:
        info = self.info(volume)
        self.assertEqual(4 * 2**20, info['object_size'])
        self.assertNotIn('striping', info['features'])
        self.assertEqual({}, self.metadata(volume))

    @runs.tags(runs.RELEASES)
    def test_to_a_stock_back_end_and_back(self) -> None:
        """Cinder copies the data to an image that the stock driver creates."""
        volume = self.created(metadata=base.ASKED)
        stock = self.make_type(volume_backend_name='stock', **_NOTE)
        self._refused('on-demand', volume, stock)
        warning = self._retype(volume, stock)
        for key in base.ASKED:
            self.assertIn(key, warning)
        # The former image is deleted only after the volume is available.
        self.until(lambda: not self.metadata(volume))
        record = self.show(volume)
        self.assertIsNone(record[_MADE])
        self.assertEqual('', self._retype(volume, 'rbd'))
        self._check_plain(volume)
        self.assertEqual(4 * 2**20, self.show(volume)[_MADE])

    @runs.tags(runs.NIGHTLY)
    def test_to_a_stock_back_end_by_the_driver(self) -> None:
        volume = self.created(metadata=base.ASKED)
        stock = self.make_type(volume_backend_name='stock')
        self.assertIn('rbd:object_size', self._retype(volume, stock))
        self.assertEqual({}, self.metadata(volume))
        self.assertIsNone(self.show(volume)[_MADE])
        self.assertEqual(2**20, self.info(volume, 'volumes2')['object_size'])

    def test_to_a_back_end_that_is_none_of_the_types(self) -> None:
        volume = self.created(metadata=base.ASKED)
        self._refused('on-demand', volume, 'fake')

    def test_to_multiattach(self) -> None:
        volume = self.created(metadata={'rbd:object_map': 'true', 'a': 'b'})
        warning = self._retype(volume, 'rbd-multiattach', 'never')
        self.assertIn('rbd:object_map', warning)
        self.assertEqual({'a': 'b'}, self.metadata(volume))
        self.assertNotIn('object-map', self.info(volume)['features'])

    def test_to_fewer_keys(self) -> None:
        volume = self.created(metadata=base.ASKED)
        fewer = self.make_type(rbd_tenant_options='rbd:object_map')
        warning = self._retype(volume, fewer, 'never')
        self.assertIn('rbd:stripe_count', warning)
        self.assertNotIn('rbd:object_map', warning)
        info = self.info(volume)
        self.assertEqual(4 * 2**20, info['object_size'])
        self.assertIn('object-map', info['features'])
        self.assertEqual({'rbd:object_map': 'true'}, self.metadata(volume))

    def test_to_fewer_keys_in_place(self) -> None:
        volume = self.created(
            metadata={'rbd:object_map': 'true', 'rbd:cache_mode': 'none'}
        )
        fewer = self.make_type(rbd_tenant_options='rbd:object_map')
        self.assertIn('cache_mode', self._retype(volume, fewer, 'never'))
        self.assertEqual({'rbd:object_map': 'true'}, self.metadata(volume))

    def test_layout_with_snapshots(self) -> None:
        """A copy replaces the image, and the requester sees the progress."""
        volume = self.created(size=2)
        for at in (3, 700, 2040):
            with opened(self.image_name(volume), read_only=False) as image:
                rbd_content.write(image, at, 8)
            if at < 2000:
                self.snapshot(volume)
        with opened(self.image_name(volume)) as image:
            before = rbd_content.sums(image)
        self.assertEqual(3, len(set(before.values())))
        striped = self.make_type(
            rbd_stripe_unit='64K', rbd_stripe_count='8', rbd_object_map='true'
        )
        seen: list[Any] = []

        def watched() -> bool:
            record = self.show(volume)
            if record['status'] == 'retyping':
                seen.append(record[_CONVERSION])
            return self._retyped(volume, striped)

        response = self._respond(volume, striped, 'never')
        self.assertEqual(202, response.status_code, response.text)
        self.until(watched)
        info = self.info(volume)
        self.assertEqual(8, info['stripe_count'])
        self.assertIn('object-map', info['features'])
        self.assertEqual([], info['flags'])
        with opened(self.image_name(volume)) as image:
            self.assertEqual(before, rbd_content.sums(image))
        self.assertIsNone(self.show(volume)[_CONVERSION])
        told = [each for each in seen if each]
        self.assertNotEqual([], told, seen)
        self.assertEqual({None}, {each['reason'] for each in told})

    def test_data_pool_stays_with_its_type(self) -> None:
        pooled = self.make_type(rbd_data_pool='volumes-data')
        volume = self.created(volume_type=pooled)
        self._retype(volume, 'rbd', 'never')
        self._check_plain(volume)
        self.assertNotIn('data_pool', self.info(volume))


class CorrectionTest(base.CloudTestCase):
    """An administrator can correct metadata that contradicts an image."""

    def test_administrator_corrects_fixed_keys(self) -> None:
        volume = self.created(metadata=base.ASKED)
        path = f'/volumes/{volume}/metadata'
        key = f'{path}/rbd:stripe_count'
        self.check_refused(400, 'cannot be removed', 'DELETE', key)
        self.request('DELETE', key, cloud=self.operator)
        wrong = {'metadata': {'rbd:stripe_count': '4'}}
        self.check_refused(
            400, 'rbd:stripe', 'POST', path, wrong, self.operator
        )
        right = {'metadata': {'rbd:stripe_count': '8'}}
        self.request('POST', path, right, self.operator)
        self.assertEqual(base.ASKED, self.metadata(volume))
