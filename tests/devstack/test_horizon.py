# SPDX-License-Identifier: Apache-2.0

"""devstack/lib/horizon: the enabled file."""

from tests import tree
from tests.devstack import base


class HorizonTest(base.DevStackTestCase):
    def test_enabled_file(self) -> None:
        self.tree.check('stack', 'post-config')
        source = tree.ROOT / 'horizon_volume_opts' / 'enabled'
        wanted = {path.name for path in source.glob('_[0-9]*.py')}
        self.assertNotEqual(set(), wanted)
        for name in wanted:
            self.assertEqual(
                (source / name).read_text(),
                self.tree.read(f'{base.ENABLED}/{name}'),
            )
