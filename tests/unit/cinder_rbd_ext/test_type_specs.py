# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from cinder.volume import qos_specs

from cinder_rbd_ext import type_specs
from tests.unit.cinder_rbd_ext import base

_OWN = {'rbd:iops_limit': '9'}


class WithMaximaTest(base.DriverTestCase):
    def test_qos_specs_are_read_only_for_keys_about_limits(self) -> None:
        kind = self.qos_type(total_iops_sec='70')
        with mock.patch.object(
            qos_specs,
            'get_qos_specs',
            autospec=True,
            side_effect=qos_specs.get_qos_specs,
        ) as read:
            for names in ((), base.ASKED):
                self.assertEqual({}, type_specs.with_maxima(kind, names))
            read.assert_not_called()
            self.assertEqual(
                {'rbd:iops_limit_maximum': '70'},
                type_specs.with_maxima(kind, _OWN),
            )

    def test_volume_without_a_type_or_qos_specs_has_no_maximum(self) -> None:
        self.assertEqual({}, type_specs.with_maxima(None, _OWN))
        kind = self.make_type(rbd_object_size='1M')
        self.assertEqual(
            {'rbd:object_size': '1M'}, type_specs.with_maxima(kind, _OWN)
        )

    def test_limit_that_only_qemu_applies_is_no_maximum(self) -> None:
        kind = self.qos_type(total_iops_sec='70', consumer='front-end')
        self.assertEqual({}, type_specs.with_maxima(kind, _OWN))
