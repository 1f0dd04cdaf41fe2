# SPDX-License-Identifier: Apache-2.0

"""The configuration on the page about Terraform and OpenTofu."""

import json
import pathlib
from typing import Any

import fixtures

from runner import client_programs
from tests import tree
from tests.clients import commands
from tests.cloud import documented
from tests.cloud import servers

_PAGE = tree.ROOT / 'doc/source/user/terraform.rst'
# Replaces the registry, which has the same provider.
_MIRROR = """\
provider_installation {{
  filesystem_mirror {{
    path = "{}"
  }}
}}
"""
_SOURCE = 'registry.opentofu.org/terraform-provider-openstack/openstack'
#: Exit status of ``tofu plan`` if there is something to change.
_CHANGES = 2


class TerraformTest(servers.ServerTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.text = documented.blocks(_PAGE, 'terraform')[0]
        self.use_mirror()
        self.configure(self.text)
        self.tofu('init')

    def use_mirror(self) -> None:
        """Make the provider available without its registry."""
        provider = client_programs.PROVIDER
        mirror, version = self.folder / 'mirror', provider.version[1:]
        folder = mirror / _SOURCE / version / 'linux_amd64'
        folder.mkdir(parents=True)
        (folder / f'{provider.name}_v{version}').symlink_to(provider.path)
        (self.folder / 'rc').write_text(_MIRROR.format(mirror))

    def configure(self, text: str) -> None:
        """Write the configuration."""
        (self.folder / 'main.tf').write_text(text)

    def tofu(self, *words: str, status: int | None = 0) -> str:
        """Run OpenTofu in the folder of the configuration."""
        return commands.run(
            str(client_programs.TOFU.path),
            *words,
            cwd=self.folder,
            status=status,
            TF_CLI_CONFIG_FILE=str(self.folder / 'rc'),
            TF_CLI_ARGS='-no-color',
        )

    def apply(self, text: str, *words: str, status: int | None = 0) -> str:
        """Apply a configuration."""
        self.configure(text)
        return self.tofu('apply', '-auto-approve', *words, status=status)

    def check_plan(self, *differences: str) -> None:
        """Check the lines of a plan that show differences in metadata."""
        status = _CHANGES if differences else 0
        said = self.tofu('plan', '-detailed-exitcode', status=status)
        lines = [' '.join(each.split()) for each in said.splitlines()]
        shown = [each for each in lines if '"rbd:' in each]
        self.assertEqual(list(differences), shown, said)

    def applied(self, text: str) -> str:
        """Apply a configuration; return the ID of its volume."""
        self.apply(text)
        (resource,) = self.state()['values']['root_module']['resources']
        ident = str(resource['values']['id'])
        self.addCleanup(self.remove, ident)
        return ident

    def state(self) -> Any:
        """Return the state, as JSON."""
        return json.loads(self.tofu('show', '-json'))

    def with_cache_mode(self, mode: str) -> str:
        """Return the configuration with a cache mode."""
        key = f'"rbd:cache_mode" = "{mode}"\n    "rbd:stripe_unit"'
        return self.text.replace('"rbd:stripe_unit"', key)

    # Tests

    def test_plan_has_no_changes_until_the_configuration_has(self) -> None:
        volume = self.applied(self.text)
        info = self.info(volume)
        self.assertEqual(
            (65536, 8), (info['stripe_unit'], info['stripe_count'])
        )
        self.check_plan()
        for mode in ('writeback', 'none'):
            self.apply(self.with_cache_mode(mode))
            self.check_plan()
            self.assertEqual(mode, self.metadata(volume)['rbd:cache_mode'])
        self.apply(self.text)
        self.assertNotIn('rbd:cache_mode', self.metadata(volume))
        other = self.text.replace('"8"', '"4"')
        said = self.apply(other, status=1)
        self.assertIn('fixed at creation of the volume', said)
        self.assertEqual('8', self.metadata(volume)['rbd:stripe_count'])
        self.check_plan('~ "rbd:stripe_count" = "8" -> "4"')
        self.apply(other, '-replace=openstack_blockstorage_volume_v3.volume')
        self.check_plan()
        replaced = self.applied(other)
        self.assertNotEqual(volume, replaced)
        self.assertEqual(4, self.info(replaced)['stripe_count'])
        self.tofu('destroy', '-auto-approve')

    def test_plan_drifts_after_an_attachment_with_a_cache_mode(self) -> None:
        volume = self.applied(self.text)
        server = self.boot()
        self.remove_before_volumes(server)
        attach = 'openstack volume rbd attach --cache-mode writeback'
        commands.run(
            *('bash', '-euc'),
            f'eval "$(tools/sandbox env)"; {attach} {server} {volume}',
            cwd=tree.ROOT,
        )
        drift = '- "rbd:cache_mode" = "writeback" -> null'
        self.check_plan(drift)
        (end,) = documented.blocks(_PAGE, 'text')
        self.configure(f'{self.text.rstrip()[:-1]}{end}}}\n')
        self.check_plan()
        self.apply(self.text)
        self.assertNotIn('rbd:cache_mode', self.metadata(volume))
        self.assertEqual('writeback', self.cache_mode(server, volume))

    def test_plan_drifts_after_the_restore_of_a_backup(self) -> None:
        volume = self.applied(self.text)
        metadata = {'rbd:cache_mode': 'writeback'}
        body = {'volume_id': self.created(metadata=metadata)}
        answer = self.request('POST', '/backups', {'backup': body})
        backup = answer['backup']['id']
        self.addCleanup(self.remove, backup, 'backups')
        self.wait_for(backup, kind='backups')
        body = {'volume_id': volume}
        path = f'/backups/{backup}/restore'
        self.request('POST', path, {'restore': body})
        self.wait_for(volume)
        self.check_plan('- "rbd:cache_mode" = "writeback" -> null')

    def test_retype_removes_keys_that_the_next_plan_adds(self) -> None:
        name = self.make_type(rbd_tenant_options='')
        volume = self.applied(self.text)
        other = self.text.replace('"rbd"', f'"{name}"')
        self.apply(other)
        self.assertEqual({}, self.metadata(volume))
        self.check_plan(
            '+ "rbd:stripe_count" = "8"', '+ "rbd:stripe_unit" = "64K"'
        )
        self.assertIn('fixed at creation', self.apply(other, status=1))
        start, end = other.index('  metadata'), other.rindex('}')
        self.configure(other[:start] + other[end:])
        self.check_plan()

    def test_change_of_a_volume_type_may_be_refused(self) -> None:
        end = documented.blocks(_PAGE, 'terraform')[1]
        name, text = 'striped-by-terraform', self.text.split('resource')[0]
        text = text.replace('"demo"', '"admin"')
        text += end.replace('"ceph"', '"rbd"')
        self.addCleanup(self.remove_type, name)
        self.apply(text)
        self.check_plan()
        other = text.replace('64K', '32K')
        # It depends on the order in which the provider deletes the keys.
        said = self.apply(other, status=None)
        if 'Apply complete' not in said:
            self.assertIn('both or neither', said)
        storage = self.operator.block_storage
        kind = storage.find_type(name)
        storage.update_type_extra_specs(kind, **{'rbd:stripe_unit': '32K'})
        self.check_plan()
        self.tofu('destroy', '-auto-approve')
        self.assertIsNone(storage.find_type(name))

    def remove_type(self, name: str) -> None:
        """Remove a volume type, if it exists."""
        storage = self.operator.block_storage
        if kind := storage.find_type(name):
            storage.delete_type(kind)
