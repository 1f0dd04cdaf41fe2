# SPDX-License-Identifier: Apache-2.0

import json
import pathlib
from typing import Any
import uuid

import ddt
import fixtures
from openstack.image.v2 import image

from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import other_parts
from tests import tree
from tests.unit import base
from tests.unit.rbd_volume_tools.doctor import hosts

_S = findings.Severity
_MODES = 'Nova [libvirt] disk_cachemodes'
_MACHINE = 'Nova [libvirt] hw_machine_type'
_STORELESS = ('Glance images without a store', _S.WARNING)


class Glance:
    """Glance's API, without hidden images."""

    def __init__(self, *bodies: dict[str, Any]) -> None:
        self._bodies = bodies

    def images(self, is_hidden: bool, **filters: object) -> list[Any]:
        """Return the images."""
        return [
            image.Image.existing(**each)
            for each in self._bodies
            if not is_hidden
        ]


@ddt.ddt
class OtherPartsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path

    def test_glance_stores_are_checked(self) -> None:
        conf = hosts.conf(self.folder, hosts.GLANCE)
        self.assertEqual(
            [('Glance store old', _S.NOTICE)],
            hosts.problems(other_parts.check_glance(conf)),
        )
        self.assertEqual(
            [('glance', ('pictures',)), ('admin', ('images',))],
            [(x.user, x.pools) for x in other_parts.glance_accesses(conf)],
        )
        conf = hosts.conf(self.folder, '[DEFAULT]')
        self.assertEqual(
            [('Glance stores', _S.NOTICE)],
            hosts.problems(other_parts.check_glance(conf)),
        )

    @ddt.data(
        ('fast:rbd_objmap, files:file', [_STORELESS]),
        ('fast:rbd_objmap, old:rbd', []),
        ('old:rbd', []),
        ('', []),
    )
    @ddt.unpack
    def test_images_without_a_store_are_named(
        self, stores: str, problems: list[object]
    ) -> None:
        """A stock store finds them."""
        conf = hosts.conf(
            self.folder, f'[DEFAULT]\nenabled_backends = {stores}'
        )
        glance = Glance(
            {'id': 'lost', 'size': 1, 'status': 'active'},
            {'id': 'found', 'size': 1, 'status': 'active', 'stores': 'fast'},
            {'id': 'of-volumes', 'size': 0, 'status': 'active'},
            {'id': 'begun', 'size': 1, 'status': 'uploading'},
        )
        checked = list(other_parts.check_locations(conf, glance))
        self.assertEqual(problems, hosts.problems(checked))
        self.assertEqual(
            ['1: lost'] * len(problems), [x.seen for x in checked]
        )

    def test_horizon_plugin_is_looked_for(self) -> None:
        root = pathlib.Path(self.folder)
        self.assertEqual([], list(other_parts.check_horizon(root)))
        folder = root / other_parts.ENABLED_FOLDERS[0]
        folder.mkdir(parents=True)
        self.assertEqual(
            [('Horizon', _S.NOTICE)],
            hosts.problems(other_parts.check_horizon(root)),
        )
        (folder / other_parts.ENABLED).touch()
        (finding,) = other_parts.check_horizon(root)
        self.assertIsNone(finding.severity)
        enabled = tree.ROOT / 'horizon_volume_opts/enabled'
        self.assertTrue((enabled / other_parts.ENABLED).is_file())

    def test_nova_configuration_is_checked(self) -> None:
        conf = hosts.conf(self.folder, hosts.NOVA)
        self.assertEqual([], hosts.problems(other_parts.check_nova(conf)))
        (access,) = other_parts.nova_accesses(conf)
        self.assertEqual(('nova', ('vms',)), (access.user, access.pools))

    @ddt.data(
        ('disk_cachemodes', 'network=unsafe', (_MODES, _S.ERROR)),
        ('hw_machine_type', '', (_MACHINE, _S.NOTICE)),
        (
            'disk_iothread',
            'False',
            ('Nova [rbd_cache] disk_iothread', _S.NOTICE),
        ),
    )
    @ddt.unpack
    def test_problems_of_nova(
        self, option: str, value: str, expected: tuple[str, _S]
    ) -> None:
        conf = hosts.conf(
            self.folder, hosts.NOVA, **{option: f'{option} = {value}'}
        )
        checked = other_parts.check_nova(conf)
        self.assertEqual([expected], hosts.problems(checked))

    def test_key_in_place_of_the_uuid_is_not_shown(self) -> None:
        run = hosts.Programs(virsh='UUID Usage')
        for value, seen in (
            (str(uuid.UUID(int=5)), f'no secret {uuid.UUID(int=5)}'),
            ('AQBkey==', 'not a UUID'),
        ):
            line = f'rbd_user = nova\nrbd_secret_uuid = {value}'
            conf = hosts.conf(self.folder, hosts.NOVA, rbd_user=line)
            (finding,) = other_parts.check_secrets(run, conf, None, None)
            self.assertIn(seen, finding.seen)
            self.assertNotIn('AQBkey', str(finding))

    def test_nova_plugin(self) -> None:
        rows = [
            {'Subject': 'Nova', 'Result': 'ok', 'Detail': '34'},
            {'Subject': 'enabled', 'Result': 'FAILED', 'Detail': 'False'},
        ]
        run = hosts.Programs(nova_rbd_cache=json.dumps(rows))
        checked = list(other_parts.check_nova_plugin(run, [pathlib.Path('n')]))
        self.assertEqual(['34', 'False'], [each.seen for each in checked])
        self.assertEqual(
            [('Nova plug-in: enabled', _S.ERROR)], hosts.problems(checked)
        )
        self.assertEqual(['--config-file', 'n'], run.commands[0][-2:])

    @ddt.data(hosts.Programs(), hosts.Programs(nova_rbd_cache=''))
    def test_nova_plugin_that_cannot_be_asked(
        self, run: hosts.Programs
    ) -> None:
        self.assertEqual(
            [('Nova plug-in', _S.WARNING)],
            hosts.problems(other_parts.check_nova_plugin(run, [])),
        )
