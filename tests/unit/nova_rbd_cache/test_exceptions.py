# SPDX-License-Identifier: Apache-2.0

"""Messages for operators."""

from nova_rbd_cache import exceptions
from tests.unit.nova_rbd_cache import base


class ExceptionsTest(base.NovaTestCase):
    def test_cannot_register_tells_the_way_out(self) -> None:
        error = exceptions.CannotRegister(reason='no disk')
        self.assertIn('no disk', str(error))
        self.assertIn('enabled = False', str(error))
