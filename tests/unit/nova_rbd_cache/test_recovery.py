# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
import json
import pathlib
import shutil
import sys
from typing import Any
import uuid

import ddt
import fixtures
import requests

from nova_rbd_cache import recovery
from rbd_volume_options import keys
from rbd_volume_options import wire
from tests.unit import base

SERVER = str(uuid.uuid4())
_LOCK = f'Refreshing connection_info for BDM 1 of {SERVER}'


def _response(status: int, **body: Any) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response._content = json.dumps(body).encode() if body else b''
    return response


class Cloud:
    """Nova and Cinder with a server after a refused migration.

    :ivar known: the attachment of each volume that Nova knows
    :ivar statuses: volume and status of each attachment
    """

    def __init__(self) -> None:
        self.server: dict[str, Any] = {
            'status': 'ERROR',
            'OS-EXT-STS:task_state': None,
            'OS-EXT-SRV-ATTR:host': 'destination',
            'locked_reason': None,
        }
        self.statuses = {
            'refused-1': ('refused', 'reserved'),
            'other-1': ('other', 'attaching'),
            'fine-1': ('fine', 'attached'),
        }
        self.known = {
            'refused': 'refused-1',
            'other': 'other-1',
            'fine': 'fine-1',
        }
        self.modes: dict[str, list[str] | None] = {'refused': ['writeback']}
        self.migrations = [
            {
                'migration_type': 'resize',
                'status': 'error',
                'source_compute': 'source',
                'dest_compute': 'destination',
            }
        ]
        self.fails = ''

    def get(self, path: str, /, *, microversion: str) -> requests.Response:
        if path.startswith('/attachments?'):
            words = dict(
                each.split('=') for each in path.split('?')[1].split('&')
            )
            return _response(
                200,
                attachments=[
                    {'id': ident, 'status': status, 'instance': SERVER}
                    for ident, (volume, status) in self.statuses.items()
                    if volume == words['volume_id']
                ],
            )
        if path == f'/os-migrations?instance_uuid={SERVER}':
            return _response(200, migrations=self.migrations)
        if path.startswith('/volumes/'):
            volume = path.split('/')[2]
            if volume not in self.modes:
                return _response(404)
            modes = {wire.REQUIRED_CACHE_MODES: self.modes[volume]}
            return _response(200, **{wire.NEXT_ATTACHMENT: modes})
        if path.split('/')[2] != SERVER:
            return _response(404)
        if path.endswith('os-volume_attachments'):
            return _response(
                200,
                volumeAttachments=[
                    {'volumeId': volume, 'attachment_id': ident}
                    for volume, ident in self.known.items()
                ],
            )
        return _response(200, server=self.server)

    def post(
        self, path: str, /, *, json: Any, microversion: str
    ) -> requests.Response:
        if path.startswith('/volumes/'):
            mode = json['metadata'][keys.CACHE_MODE]
            self.modes[path.split('/')[2]] = [mode]
            return _response(200, **json)
        (action,) = json
        if action == self.fails:
            return _response(409, conflictingRequest={'message': 'no'})
        changes: dict[str, dict[str, Any]] = {
            'os-resetState': {'status': 'ACTIVE'},
            'os-stop': {'status': 'SHUTOFF'},
            'os-start': {'status': 'ACTIVE'},
            'unlock': {'locked_reason': None},
        }
        self.server |= changes[action]
        return _response(202)

    def delete(self, path: str, /, *, microversion: str) -> requests.Response:
        del self.statuses[path.split('/')[2]]
        return _response(200)

    def refresh(self, volume: str, killed_after: int = 9) -> None:
        """Do what nova-manage does, up to a number of its steps."""
        if self.server['status'] != 'SHUTOFF':
            raise AssertionError('nova-manage requires a stopped server')
        locked = self.server['locked_reason']
        new = f'{volume}-new-{len(self.statuses)}'
        steps: tuple[Callable[[], Any], ...] = (
            lambda: self.server.update(locked_reason=_LOCK),
            lambda: self.statuses.update({new: (volume, 'reserved')}),
            lambda: self.statuses.pop(self.known[volume], None),
            lambda: self.statuses.update({new: (volume, 'attaching')}),
            lambda: self.known.update({volume: new}),
            lambda: self.statuses.update({new: (volume, 'attached')}),
            lambda: self.server.update(locked_reason=locked),
        )
        for each in steps[:killed_after]:
            each()

    def recovery(self, server: str = SERVER, **values: Any) -> '_Recovery':
        return _Recovery(
            self,
            self,
            server,
            pathlib.Path('connector.json'),
            **{
                'host': 'destination',
                'modes': frozenset({'none', 'writethrough'}),
                'cache_mode': 'none',
                **values,
            },
        )


class _Recovery(recovery.Recovery):
    compute: Cloud

    def _manage(self, *words: str) -> None:
        self.compute.refresh(words[3])


@ddt.ddt
class RecoveryTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cloud = Cloud()

    def finish(self) -> None:
        """Run the steps that are left, as often as an operator would."""
        try:
            steps = self.cloud.recovery().steps()
        except recovery.NotRecoverable as error:
            # What the message says.
            self.assertIn('server set --state error', str(error))
            self.cloud.server['status'] = 'ERROR'
            steps = self.cloud.recovery().steps()
        for each in steps:
            each.run()

    def check_recovered(self) -> None:
        """Check that each volume is connected once, and no lock is left."""
        self.assertEqual(
            ['attached'] * 3,
            [
                self.cloud.statuses[each][1]
                for each in self.cloud.known.values()
            ],
        )
        self.assertEqual(3, len(self.cloud.statuses))
        self.assertIsNone(self.cloud.server['locked_reason'])
        # A repetition has nothing to do.
        self.cloud.server['status'] = 'SHUTOFF'
        self.assertEqual([], self.cloud.recovery().steps())

    def test_steps_are_shown_in_their_order(self) -> None:
        self.assertEqual(
            [
                'openstack volume set --property rbd:cache_mode=none refused',
                f'openstack server set --state active {SERVER}',
                f'openstack server stop {SERVER}',
                *(
                    f'nova-manage volume_attachment refresh {SERVER} '
                    f'{volume} connector.json'
                    for volume in ('refused', 'other')
                ),
                f'openstack server start {SERVER}',
            ],
            [each.command for each in self.cloud.recovery().steps()],
        )
        self.assertEqual('ERROR', self.cloud.server['status'])

    def test_kill_between_any_steps_is_resumed(self) -> None:
        number = len(self.cloud.recovery().steps())
        for killed_after in range(number + 1):
            self.cloud = Cloud()
            for each in self.cloud.recovery().steps()[:killed_after]:
                each.run()
            if killed_after < number:
                self.finish()
            self.check_recovered()

    @ddt.data(*range(8))
    def test_kill_of_nova_manage_at_any_line_is_resumed(
        self, killed_after: int
    ) -> None:
        for each in self.cloud.recovery().steps()[:3]:
            each.run()
        self.cloud.refresh('refused', killed_after)
        self.finish()
        self.assertEqual('ACTIVE', self.cloud.server['status'])
        self.check_recovered()

    def test_mode_that_the_host_does_not_allow_must_be_chosen(self) -> None:
        error = self.assertRaises(
            recovery.NotRecoverable,
            self.cloud.recovery(cache_mode=None).steps,
        )
        self.assertIn('refused requires cache mode writeback', str(error))
        self.assertIn('none, writethrough', str(error))
        self.cloud.modes['refused'] = None
        self.assertEqual(
            f'openstack server set --state active {SERVER}',
            self.cloud.recovery(cache_mode=None).steps()[0].command,
        )

    @ddt.data(
        ({'OS-EXT-STS:task_state': 'migrating'}, 'is working on the server'),
        ({'status': 'ACTIVE'}, 'is ACTIVE, not in ERROR'),
        ({'status': 'VERIFY_RESIZE'}, 'not in ERROR'),
        ({'OS-EXT-SRV-ATTR:host': 'third'}, 'connector on third'),
    )
    @ddt.unpack
    def test_server_in_another_state_is_refused(
        self, state: dict[str, Any], text: str
    ) -> None:
        self.cloud.server |= state
        error = self.assertRaises(
            recovery.NotRecoverable, self.cloud.recovery().steps
        )
        self.assertIn(text, str(error))

    @ddt.data('reverting', 'error')
    def test_unfinished_revert_needs_its_local_disks(
        self, status: str
    ) -> None:
        self.cloud.migrations[0] |= {
            'status': status,
            'source_compute': 'destination',
            'dest_compute': 'other',
        }
        error = self.assertRaises(
            recovery.NotRecoverable, self.cloud.recovery().steps
        )
        self.assertIn(f'the folder {SERVER}_resize', str(error))
        # What the message says.
        self.cloud.server['status'] = 'SHUTOFF'
        self.finish()
        self.check_recovered()

    def test_revert_that_was_finished_is_recovered(self) -> None:
        """Something else left the server in ERROR."""
        self.cloud.migrations[0] |= {
            'status': 'reverted',
            'source_compute': 'destination',
            'dest_compute': 'other',
        }
        self.finish()
        self.check_recovered()

    def test_server_with_complete_attachments_is_left_alone(self) -> None:
        for ident, (volume, _) in self.cloud.statuses.items():
            self.cloud.statuses[ident] = (volume, 'attached')
        for status in ('ERROR', 'SHUTOFF'):
            self.cloud.server['status'] = status
            self.assertEqual([], self.cloud.recovery().steps())

    def test_refusal_of_nova_is_shown(self) -> None:
        self.cloud.fails = 'os-stop'
        steps = self.cloud.recovery().steps()
        steps[0].run()
        steps[1].run()
        error = self.assertRaises(recovery.NotRecoverable, steps[2].run)
        self.assertIn('HTTP 409', str(error))

    def test_unknown_server_is_named(self) -> None:
        error = self.assertRaises(
            recovery.NotRecoverable, self.cloud.recovery('other').steps
        )
        self.assertIn('no server with the ID other', str(error))


class ManageTest(base.TestCase):
    """nova-manage is that of the environment of this program."""

    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.program = folder / 'nova-manage'
        self.patch(sys, 'executable', str(folder / 'python'))
        self.patch(shutil, 'which', lambda name: None)

    def refresh(self, script: str) -> str:
        """Run the refresh of a volume; return the error."""
        self.program.write_text(f'#!/bin/sh\n{script}\n')
        self.program.chmod(0o700)
        self.patch(shutil, 'which', lambda name: name)
        cloud = Cloud()
        wanted = recovery.Recovery(
            cloud,
            cloud,
            SERVER,
            pathlib.Path('connector.json'),
            'destination',
            frozenset(),
            ('--config-file', 'nova.conf'),
        )
        error = self.assertRaises(
            recovery.NotRecoverable, wanted._refresh('volume').run
        )
        return str(error)

    def test_output_of_a_failed_refresh_is_shown(self) -> None:
        error = self.refresh('echo "$@"; echo broken >&2; exit 5')
        self.assertIn('ended with status 5', error)
        self.assertIn(
            '--config-file nova.conf volume_attachment refresh '
            f'{SERVER} volume connector.json\nbroken',
            error,
        )

    def test_missing_program_is_named_with_the_place(self) -> None:
        wanted = Cloud().recovery()
        error = self.assertRaises(
            recovery.NotRecoverable,
            recovery.Recovery._manage,
            wanted,
            'volume_attachment',
        )
        self.assertIn(f'no nova-manage beside {sys.executable}', str(error))
