# SPDX-License-Identifier: Apache-2.0

import dataclasses
import sys
from unittest import mock
import uuid

from cinder import context
from cinder import objects
from cinder.common import config
from cinder.tests.unit import test
from cinder.tests.unit import utils as cinder_utils

from cinder_rbd_ext import record
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import image_record
from rbd_volume_options import layout
from rbd_volume_options import plan
from rbd_volume_options import precedence
from rbd_volume_tools.fleet import recorded

_PLAIN = plan.ImageState(
    layout.ImageLayout(4 << 20), frozenset({features.LAYERING})
)
_THERE = features.MAP_ON | {features.LAYERING}


class RecordedTest(test.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.volume = cinder_utils.create_volume(
            context.RequestContext('user', 'project')
        )

    def recorded(self) -> image_record.Record | None:
        return image_record.read(record.stored(self.volume.id))

    def test_only_the_features_change(self) -> None:
        origins = dict.fromkeys(precedence.Part, errors.Origin.CLUSTER)
        before = image_record.Record(_PLAIN, origins, 'host@rbd')
        record.replace(self.volume, before)
        self.assertTrue(recorded.correct(self.volume.id, _THERE))
        state = dataclasses.replace(_PLAIN, image_features=_THERE)
        self.assertEqual(
            dataclasses.replace(before, state=state), self.recorded()
        )

    def test_no_record(self) -> None:
        self.assertFalse(recorded.correct(self.volume.id, _THERE))
        self.assertIsNone(self.recorded())
        self.assertFalse(recorded.correct(str(uuid.uuid4()), _THERE))

    def test_recorder_without_cinder_says_where_to_run_it(self) -> None:
        with mock.patch.dict(sys.modules, {'cinder': None}):
            error = self.assertRaises(ValueError, recorded.recorder, 'c')
        self.assertIn('Install Cinder, or run the command', str(error))

    def test_recorder_reads_cinder_configuration(self) -> None:
        with (
            mock.patch.object(config, 'CONF', autospec=True) as conf,
            mock.patch.object(objects, 'register_all', autospec=True),
        ):
            recorder = recorded.recorder('/etc/cinder/cinder.conf')
        self.assertIs(recorded.correct, recorder)
        conf.assert_called_once_with(
            [],
            project='cinder',
            default_config_files=['/etc/cinder/cinder.conf'],
            default_config_dirs=[],
        )
