# SPDX-License-Identifier: Apache-2.0

"""The source of a new volume."""

from cinderclient import exceptions
import ddt

from horizon_volume_opts import source
from tests.unit.horizon_volume_opts import horizon_case


@ddt.ddt
class FindTestCase(horizon_case.HorizonTestCase):
    @ddt.data('unknown', 'detail', 'summary', '../types')
    def test_lists_of_cinder_and_unknown_ids_are_no_sources(
        self, ident: str
    ) -> None:
        self.assertRaises(
            exceptions.NotFound,
            *(source.find, self.request_to('/'), source.VOLUME, ident),
        )
