# SPDX-License-Identifier: Apache-2.0

"""The playbooks in the user guide."""

import pathlib
import re

import fixtures

from runner import client_programs
from tests import tree
from tests.clients import commands
from tests.cloud import base
from tests.cloud import documented

_PAGE = tree.ROOT / 'doc/source/user/programs.rst'
_MODULES = ('volume', 'volume_type')


class AnsibleTest(base.CloudTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.books = {
            name: next(
                block
                for block in documented.blocks(_PAGE, 'yaml')
                if f'openstack.cloud.{name}:' in block
            )
            for name in _MODULES
        }

    def play(self, book: str, status: int = 0) -> str:
        """Run a playbook; return its output."""
        path = self.folder / 'playbook.yaml'
        path.write_text(book)
        venv = client_programs.venv()
        python = venv.program('python')
        return commands.run(
            venv.program('ansible-playbook'),
            *('--inventory', 'localhost,', '--connection', 'local'),
            *('--extra-vars', f'ansible_python_interpreter={python}'),
            str(path),
            status=status,
            ANSIBLE_NOCOLOR='1',
            ANSIBLE_HOME=str(self.folder),
        )

    def changed(self, book: str) -> int:
        """Run a playbook; return the number of changed resources."""
        (changed,) = re.findall(r' changed=(\d+) ', self.play(book))
        return int(changed)

    def test_volume_is_created_once_and_its_metadata_is_kept(self) -> None:
        book = self.books['volume']
        name = 'from a playbook'
        self.addCleanup(self.remove_volume, name)
        self.assertEqual(1, self.changed(book))
        volume = self.tenant.block_storage.find_volume(name).id
        info = self.info(volume)
        self.assertEqual(
            (65536, 8), (info['stripe_unit'], info['stripe_count'])
        )
        self.assertEqual(0, self.changed(book))
        # As the page says: the module does not compare metadata.
        self.assertEqual(0, self.changed(book.replace('64K', '32K')))
        self.assertEqual('64K', self.metadata(volume)['rbd:stripe_unit'])
        self.assertEqual(1, self.changed(book.replace('size: 1', 'size: 2')))
        self.assertEqual(2, self.wait_for(volume)['size'])

    def remove_volume(self, name: str) -> None:
        """Remove a volume, if it exists."""
        for volume in self.tenant.block_storage.volumes(name=name):
            self.remove(volume.id)

    def test_play_fails_with_the_reason_of_a_refusal(self) -> None:
        book = self.books['volume'].replace('64K', '3M')
        self.assertIn('rbd:stripe_unit = ', self.play(book, status=2))

    def test_volume_type_has_the_extra_specs_of_the_play(self) -> None:
        book = self.books['volume_type'].replace('name: ceph', 'name: rbd')
        self.addCleanup(self.remove_type, 'striped-by-ansible')
        self.assertEqual(1, self.changed(book))
        self.assertEqual(0, self.changed(book))
        self.assertEqual(1, self.changed(book.replace('64K', '32K')))
        self.assertEqual(
            '32K', self.specs('striped-by-ansible')['rbd:stripe_unit']
        )
        # As the page says: the module deletes keys one after the other.
        without = re.sub(r'.*rbd:stripe_.*\n', '', book)
        self.assertIn('both or neither', self.play(without, status=2))
        self.assertIn('rbd:stripe_unit', self.specs('striped-by-ansible'))

    def specs(self, name: str) -> dict[str, str]:
        """Return the extra specs of a volume type."""
        kind = self.operator.block_storage.find_type(name)
        return dict(kind.extra_specs)

    def remove_type(self, name: str) -> None:
        """Remove a volume type, if it exists."""
        storage = self.operator.block_storage
        if kind := storage.find_type(name):
            storage.delete_type(kind)
