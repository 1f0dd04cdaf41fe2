# SPDX-License-Identifier: Apache-2.0

from unittest import mock

import fixtures

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import option_errors
from cinder_rbd_ext import record
from cinder_rbd_ext import user_messages
from rbd_volume_options import errors
from rbd_volume_options import keys
from tests.unit import base

_CREATION = user_messages.Operation.CREATION


class RefusalTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = mock.Mock(spec_set=['id', 'project_id'])
        self.told = self.useFixture(
            fixtures.MockPatchObject(
                user_messages,
                'refused',
                mock.create_autospec(user_messages.refused),
            )
        ).mock
        self.recorded = self.useFixture(
            fixtures.MockPatchObject(
                record, 'refused', mock.create_autospec(record.refused)
            )
        ).mock

    def _refuse(
        self, key: str, operation: user_messages.Operation
    ) -> Exception:
        def refuse() -> None:
            with option_errors.of_volume(self.volume, 'ceph', operation):
                raise errors.OptionError(
                    key, 'fast', 'no such pool', 'another', None
                )

        refusal: Exception = self.assertRaises(
            exceptions.VolumeOptionRefused, refuse
        )
        return refusal

    def test_refused_creation_is_recorded_and_told(self) -> None:
        error = self._refuse(keys.CACHE_MODE, _CREATION)
        self.told.assert_called_once()
        self.assertIn("rbd:cache_mode = 'fast'", str(error))
        self.recorded.assert_called_once()
        self.assertIn('no such pool', self.recorded.call_args.args[1])

    def test_names_of_pools_are_hidden_from_tenants(self) -> None:
        error = self._refuse(keys.DATA_POOL, _CREATION)
        self.assertIn('fast', str(error))
        self.assertNotIn('fast', self.recorded.call_args.args[1])

    def test_refused_retype_is_told_and_not_recorded(self) -> None:
        self._refuse(keys.CACHE_MODE, user_messages.Operation.RETYPE)
        self.recorded.assert_not_called()
        self.told.assert_called_once()

    def test_another_error_is_passed_on(self) -> None:
        def fail() -> None:
            with option_errors.of_volume(self.volume, 'ceph', _CREATION):
                raise ValueError('unrelated')

        self.assertRaises(ValueError, fail)
        self.recorded.assert_not_called()
