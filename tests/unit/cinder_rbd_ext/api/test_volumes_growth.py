# SPDX-License-Identifier: Apache-2.0

"""Volumes that are extended."""

from typing import Any
from unittest import mock

import oslo_messaging

from tests.unit.cinder_rbd_ext.api import base

_EXTEND = 'cinder.volume.api.API.%s'
_KEYS = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '3'}
_MADE = {
    'rbd:object_size': '1048576',
    'rbd:stripe_unit': '1048576',
    'rbd:stripe_count': '3',
    'rbd:features': 'exclusive-lock,layering,striping',
    'rbd:origins': 'object_size=cluster,striping=volume_metadata',
}
_OF_TYPE = {**_MADE, 'rbd:origins': 'striping=volume_type'}
_OF_CEPH = {**_MADE, 'rbd:origins': 'object_size=cluster,striping=cluster'}
_SMALL = {
    'rbd:object_size': '4096',
    'rbd:stripe_unit': '4096',
    'rbd:stripe_count': '1',
    'rbd:features': 'exclusive-lock,fast-diff,layering,object-map',
}


class ExtendTest(base.ApiTestCase):
    """POST volumes/{id}/action with os-extend."""

    def _path(self, volume: Any) -> str:
        return f'/volumes/{volume.id}/action'

    def _refused(self, volume: Any, size: Any, words: Any, **how: Any) -> None:
        body = {'os-extend': {'new_size': size}}
        with mock.patch(_EXTEND % '_extend', autospec=True) as extend:
            self.refused(400, words, 'POST', self._path(volume), body, **how)
        extend.assert_not_called()

    def _accepted(self, volume: Any, size: Any, **how: Any) -> None:
        """Check that the request reaches Cinder's own method."""
        body = {'os-extend': {'new_size': size}}
        with mock.patch(_EXTEND % '_extend', autospec=True) as extend:
            self.ok('POST', self._path(volume), body, **how)
        extend.assert_called_once()

    def test_volume_that_is_migrated_keeps_its_size(self) -> None:
        """Cinder would set the former size again, after a copy of that."""
        for status in ('migrating', 'starting'):
            volume = self.volume(_KEYS, _MADE, size=3, migration_status=status)
            self._refused(volume, 6, 'is being migrated. Extend it afterwards')
            # Another driver's volume is left to Cinder.
            self._accepted(self.volume(size=3, migration_status=status), 4)
        volume = self.volume(_KEYS, _MADE, size=3, migration_status='success')
        self._accepted(volume, 6)

    def test_whole_stripes(self) -> None:
        for volume in (
            self.volume(_KEYS, _MADE, size=3),
            self.volume(_KEYS, _MADE, size=3, status='in-use'),
        ):
            for size in (4, '4', 5):
                self._refused(
                    volume, size, 'GiB is not a multiple of 1 MiB x 3'
                )
            self._accepted(volume, 6)

    def test_layout_of_the_type(self) -> None:
        host = 'host@rbd#rbd'
        volume = self.volume(
            None, _OF_TYPE, volume_type='striped', size=3, host=host
        )
        self._refused(volume, 4, 'not a multiple')

    def test_microversion_without_attached_volumes(self) -> None:
        volume = self.volume(_KEYS, _MADE, size=3)
        self._refused(volume, 4, 'not a multiple', version='3.0')

    def test_too_many_objects_for_an_object_map(self) -> None:
        # librbd would refuse the size, regardless of the source of the layout.
        volume = self.volume(None, _SMALL)
        self._refused(volume, 2048, '256,000,000')
        self._accepted(volume, 512)

    def test_striping_that_nobody_requested(self) -> None:
        self._accepted(self.volume(None, _OF_CEPH, size=3), 4)

    def test_renamed_section(self) -> None:
        """The driver applies a record that a former section wrote."""
        former = {'rbd:recorded_by': 'host@former'}
        volume = self.volume(_KEYS, {**_MADE, **former}, size=3)
        self._refused(volume, 4, 'not a multiple')
        self._accepted(volume, 6)
        volume = self.volume(None, {**_SMALL, **former})
        self._refused(volume, 2048, '256,000,000')
        self._accepted(volume, 512)

    def test_record_of_a_volume_that_has_left(self) -> None:
        """Another driver has the volume, and the record was not removed."""
        former = {'rbd:recorded_by': 'host@former'}
        for made, size in ((_MADE, 4), (_SMALL, 2048)):
            volume = self.volume(
                _KEYS, {**made, **former}, volume_type='fake', size=3
            )
            self._accepted(volume, size)

    def test_nothing_recorded(self) -> None:
        self._accepted(self.volume(_KEYS, None, size=3), 4)
        edited = {**_MADE, 'rbd:stripe_count': 'x'}
        self._accepted(self.volume(_KEYS, edited, size=3), 4)

    def test_back_end_that_does_not_require_it(self) -> None:
        loose = base.pool('rbd', base.settings(require_whole_stripes=False))
        self.get_pools.return_value = [loose, *base.POOLS[1:]]
        self._accepted(self.volume(_KEYS, _MADE, size=3), 4)

    def test_another_driver(self) -> None:
        volume = self.volume(_KEYS, _MADE, volume_type='fake', size=3)
        self._accepted(volume, 4)

    def test_limits_that_are_not_known(self) -> None:
        volume = self.volume(_KEYS, _MADE, size=3, host='host@none#none')
        body = {'os-extend': {'new_size': 4}}
        self.refused(503, 'not reported', 'POST', self._path(volume), body)
        self.get_pools.side_effect = oslo_messaging.MessagingTimeout()
        # A size that all back ends allow needs no response of the scheduler.
        self._accepted(self.volume(_KEYS, _MADE, size=3), 6)

    def test_what_cinder_refuses_is_left_to_it(self) -> None:
        volume = self.volume(_KEYS, _MADE, size=3)
        bodies: Any = (
            {'os-extend': None},
            {'os-extend': {}},
            {'os-extend': {'new_size': float('inf')}},
            {'os-extend': {'new_size': 'x'}},
            {'os-extend': {'new_size': 1 << 31}},
            {'os-extend': {'new_size': -1}},
            {'os-extend': {'new_size': 2}},
        )
        for body in bodies:
            response = self.call('POST', self._path(volume), body)
            self.assertEqual(400, response.status_int, response.text)
            self.assertNotIn('multiple', response.text)

    def test_size_that_python_does_not_print_in_bytes(self) -> None:
        path = self._path(self.volume(None, _SMALL))
        for size in (int('9' * 4300), '9' * 4300):
            body = {'os-extend': {'new_size': size}}
            response = self.call('POST', path, body)
            self.assertEqual(400, response.status_int, response.text[:99])

    def test_stock_policy_applies_before_ours(self) -> None:
        volume = self.volume(_KEYS, _MADE, size=3)
        path, body = self._path(volume), {'os-extend': {'new_size': 4}}
        self.refused(404, volume.id, 'POST', path, body, app=self.stranger)
        self.enforce_new_defaults()
        # Cinder's own policy is checked first.
        self.refused(403, 'volume:extend', 'POST', path, body, app=self.reader)
