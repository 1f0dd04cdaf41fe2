# SPDX-License-Identifier: Apache-2.0

"""The template in the user guide, run by Heat's engine."""

import json
from typing import Any

import fixtures

from runner import client_programs
from tests import tree
from tests.clients import commands
from tests.cloud import base
from tests.cloud import documented

_PAGE = tree.ROOT / 'doc/source/user/programs.rst'
_PROGRAM = tree.ROOT / 'tests/clients/heat_stack.py'


class HeatTest(base.CloudTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        (self.template,) = (
            block
            for block in documented.blocks(_PAGE, 'yaml')
            if block.startswith('heat_template_version')
        )

    def heat(self, action: str, template: str = '') -> tuple[str, Any]:
        """Run an action on the stack; return its state and its content."""
        said = commands.run(
            client_programs.venv().program('python'),
            str(_PROGRAM),
            self.folder,
            action,
            said=template,
        )
        state, content = said.splitlines()[-2:]
        return state, json.loads(content)

    def test_stack_creates_shows_changes_and_deletes_a_volume(self) -> None:
        state, content = self.heat('create', self.template)
        volume = content['ids']['volume']
        self.addCleanup(self.remove, volume)
        self.assertIn('CREATE COMPLETE', state)
        self.assertEqual({'stripe_unit': 65536}, content['outputs'])
        self.assertEqual(8, self.info(volume)['stripe_count'])
        changed = self.template.replace('"8"', '"4"')
        self.assertNotEqual(changed, self.template)
        state, content = self.heat('update', changed)
        self.assertIn('UPDATE FAILED', state)
        self.assertIn('fixed at creation of the volume', state)
        cache = '"rbd:cache_mode": writeback, "rbd:stripe_unit"'
        changed = self.template.replace('"rbd:stripe_unit"', cache, 1)
        state, content = self.heat('update', changed)
        self.assertIn('UPDATE COMPLETE', state)
        self.assertEqual(volume, content['ids']['volume'])
        self.assertEqual('writeback', self.metadata(volume)['rbd:cache_mode'])
        # As the page says: Heat does not notice what others change.
        metadata = {**self.metadata(volume), 'rbd:cache_mode': 'none'}
        self.request(
            'PUT', f'/volumes/{volume}/metadata', {'metadata': metadata}
        )
        state, _content = self.heat('update', changed)
        self.assertIn('UPDATE COMPLETE', state)
        self.assertEqual('none', self.metadata(volume)['rbd:cache_mode'])
        state, _content = self.heat('delete')
        self.assertIn('DELETE COMPLETE', state)
        response = self.respond('GET', f'/volumes/{volume}')
        self.assertEqual(404, response.status_code)
