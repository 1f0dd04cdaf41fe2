# SPDX-License-Identifier: Apache-2.0

from rbd_volume_tools.bench import servers
from tests.unit.rbd_volume_tools.bench import test_commands


class BenchServersTest(test_commands.CommandTestCase):
    def test_option_that_is_missing_is_named(self) -> None:
        folder = self.folder / 'measured'
        words = ('--pool', 'volumes', '--output', str(folder))
        for more, option in (
            ((), '--server-image'),
            (('--server-image', 'fio'), '--flavor'),
        ):
            status, text = self.run_command('servers', *words, *more)
            self.assertEqual(1, status, text)
            self.assertIn(option, text)
        self.assertFalse((folder / servers.FILE).exists())
