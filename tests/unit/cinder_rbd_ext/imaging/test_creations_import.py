# SPDX-License-Identifier: Apache-2.0

from typing import Any

from cinder_rbd_ext.imaging import creations
from rbd_volume_options import options
from tests.unit import base

# As the stock driver imports a Glance image.
_IMPORT = ('rbd', 'import', '--order', 22, '/tmp/tmp1', 'volume-1')


class OfImportTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.creations = creations.Creations()

        def planner(
            base: options.Values, parent: options.Values | None
        ) -> options.Values:
            raise NotImplementedError

        self.creation = creations.Creation('volume-1', planner)

    def _found(self, *command: Any) -> creations.Creation | None:
        with self.creations.hold(self.creation):
            return self.creations.find_import(command)

    def test_import_is_recognised_by_its_command(self) -> None:
        self.assertIs(self.creation, self._found(*_IMPORT))

    def test_import_of_another(self) -> None:
        self.assertIsNone(self._found('rbd', 'import', '/tmp/x', 'volume-2'))

    def test_other_commands(self) -> None:
        self.assertIsNone(self._found('rbd', 'export', 'volume-1', '/tmp/x'))
        self.assertIsNone(self._found('qemu-img', 'convert', 'volume-1'))
        self.assertIsNone(self._found('rbd'))
        self.assertIsNone(self._found())

    def test_not_under_way(self) -> None:
        self.assertIsNone(self.creations.find_import(_IMPORT))
