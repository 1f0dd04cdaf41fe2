# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from cinder import exception
import fixtures

from cinder_rbd_ext import exceptions
from cinder_rbd_ext import option_errors
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

    def test_refusal_is_told_once(self) -> None:
        for operation in (_CREATION, user_messages.Operation.RETYPE):
            error = self._refuse(keys.CACHE_MODE, operation)
            self.assertIn("rbd:cache_mode = 'fast'", str(error))
            self.told.assert_called_once_with(
                self.volume, operation, mock.ANY, False
            )
            self.told.reset_mock()

    def test_image_that_cinder_cannot_use_is_told(self) -> None:
        def fail() -> None:
            with option_errors.of_volume(self.volume, 'ceph', _CREATION):
                raise exception.ImageUnacceptable(image_id='1', reason='qed')

        self.assertRaises(exception.ImageUnacceptable, fail)
        self.assertIn('qed', self.told.call_args.args[2])

    def test_another_error_is_passed_on(self) -> None:
        def fail() -> None:
            with option_errors.of_volume(self.volume, 'ceph', _CREATION):
                raise ValueError('unrelated')

        self.assertRaises(ValueError, fail)
        self.told.assert_not_called()
