# SPDX-License-Identifier: Apache-2.0

from cinder.image import image_utils  # noqa: F401 - or the next one fails
from cinder.volume.flows.manager import create_volume

from cinder_rbd_ext import exceptions
from tests.unit import base


class ExceptionsTest(base.TestCase):
    def test_refusal_is_not_tried_on_another_backend(self) -> None:
        """Another back end might ignore the option."""
        task = create_volume.OnFailureRescheduleTask(
            reschedule_context=None,
            db=None,
            manager=None,
            scheduler_rpcapi=None,
            do_reschedule=True,
        )
        never = tuple(task.no_reschedule_types)
        self.assertTrue(issubclass(exceptions.VolumeOptionRefused, never))
        self.assertFalse(issubclass(exceptions.InvalidBackendOptions, never))
