# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
import itertools
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
    :ivar volumes: status of each volume
    :ivar freed: volumes that became available
    :ivar actions: Nova's actions, the newest first
    :ivar fails: the action that Nova refuses
    :ivar ignores: the action that fails after Nova has accepted it
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
        self.freed: list[str] = []
        self.volumes = dict.fromkeys(self.known, '')
        for volume in self.volumes:
            self._derive(volume)
        self.modes: dict[str, list[str] | None] = {'refused': ['writeback']}
        self.migrations = [
            {
                'migration_type': 'resize',
                'status': 'error',
                'source_compute': 'source',
                'dest_compute': 'destination',
            }
        ]
        self.actions = ['resize', 'create']
        self.fails = self.ignores = ''
        self.created = 0

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
            if path == f'/volumes/{volume}':
                shown = {'status': self.volumes[volume]}
                return _response(200, volume=shown)
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
        if path.endswith('os-instance-actions'):
            actions = [{'action': each} for each in self.actions]
            return _response(200, instanceActions=actions)
        return _response(200, server=self.server)

    def post(
        self, path: str, /, *, json: Any, microversion: str
    ) -> requests.Response:
        if path == '/attachments':
            if json['attachment']['instance_uuid'] != SERVER:
                return _response(400)
            ident = self.create(json['attachment']['volume_uuid'])
            return _response(200, attachment={'id': ident})
        if path.endswith('/action') and path.startswith('/volumes/'):
            status = json['os-reset_status']['status']
            self.volumes[path.split('/')[2]] = status
            return _response(202)
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
        if action != self.ignores:
            self.server |= changes[action]
        self.actions.insert(0, action.removeprefix('os-'))
        return _response(202)

    def delete(self, path: str, /, *, microversion: str) -> requests.Response:
        self.remove(path.split('/')[2])
        return _response(200)

    def create(self, volume: str) -> str:
        """Reserve an attachment and return its ID."""
        if self.volumes[volume] not in ('available', 'reserved', 'in-use'):
            raise recovery.NotRecoverable(
                f'Volume {volume} status must be available or downloading to '
                f'reserve, but the current status is {self.volumes[volume]}.'
            )
        if self.volumes[volume] == 'available':
            self.volumes[volume] = 'reserved'
        self.created += 1
        ident = f'{volume}-new-{self.created}'
        self.statuses[ident] = (volume, 'reserved')
        return ident

    def connect(self, volume: str, ident: str) -> None:
        """Connect an attachment."""
        others = [
            status
            for other, (of, status) in self.statuses.items()
            if of == volume and other != ident
        ]
        if set(others) - {'reserved'}:
            raise recovery.NotRecoverable('duplicate connectors')
        self.statuses[ident] = (volume, 'attaching')
        self.volumes[volume] = 'attaching'

    def complete(self, volume: str, ident: str) -> None:
        """Complete an attachment."""
        self.statuses[ident] = (volume, 'attached')
        self.volumes[volume] = 'in-use'

    def remove(self, ident: str) -> None:
        """Delete an attachment, if it exists."""
        if ident in self.statuses:
            volume, _ = self.statuses.pop(ident)
            self._derive(volume)

    def _derive(self, volume: str) -> None:
        # The first one in the order of Cinder.
        first = min(
            (
                status
                for of, status in self.statuses.values()
                if of == volume and not status.startswith('error_')
            ),
            default='available',
        )
        self.volumes[volume] = {'attached': 'in-use'}.get(first, first)
        if self.volumes[volume] == 'available':
            self.freed.append(volume)

    def refresh(self, volume: str, killed_after: int = 9) -> None:
        """Do what nova-manage does, up to a number of its steps."""
        if self.server['status'] != 'SHUTOFF':
            raise AssertionError('nova-manage requires a stopped server')
        locked = self.server['locked_reason']
        new: list[str] = []
        steps: tuple[Callable[[], Any], ...] = (
            lambda: self.server.update(locked_reason=_LOCK),
            lambda: new.append(self.create(volume)),
            lambda: self.remove(self.known[volume]),
            lambda: self.connect(volume, new[0]),
            lambda: self.known.update({volume: new[0]}),
            lambda: self.complete(volume, new[0]),
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
            'connector.json',
            **{
                'host': 'destination',
                'modes': frozenset({'none', 'writethrough'}),
                'cache_mode': 'none',
                **values,
            },
        )


class _Recovery(recovery.Recovery):
    compute: Cloud

    def _program(self) -> str:
        return 'nova-manage'

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
        self.assertEqual([], self.cloud.freed)
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
                f'nova-manage volume_attachment refresh {SERVER} refused '
                'connector.json',
                'openstack volume set --state in-use other',
                f'nova-manage volume_attachment refresh {SERVER} other '
                'connector.json',
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

    @ddt.data(*itertools.product(('refused', 'other'), range(8)))
    @ddt.unpack
    def test_kill_of_nova_manage_at_any_line_is_resumed(
        self, volume: str, killed_after: int
    ) -> None:
        for each in self.cloud.recovery().steps():
            if each.command.endswith(f'{volume} connector.json'):
                break
            each.run()
        self.cloud.refresh(volume, killed_after)
        # A server with complete attachments is left to its user.
        known = self.cloud.known['other']
        complete = self.cloud.statuses.get(known) == ('other', 'attached')
        self.finish()
        self.assertEqual(
            'SHUTOFF' if complete else 'ACTIVE', self.cloud.server['status']
        )
        self.check_recovered()

    @ddt.data(*range(1, 9))
    def test_kill_after_a_kill_of_nova_manage_is_resumed(
        self, killed_after: int
    ) -> None:
        """The only attachment of the volume is one that Nova lacks."""
        self.cloud.server['status'] = 'SHUTOFF'
        self.cloud.modes['refused'] = None
        self.cloud.refresh('refused', 4)
        steps = self.cloud.recovery().steps()
        self.assertIn(
            f'openstack volume attachment create refused {SERVER}',
            [each.command for each in steps],
        )
        for each in steps[:killed_after]:
            each.run()
        self.finish()
        self.check_recovered()

    @ddt.data(
        (['resize', 'stop', 'create'], 'SHUTOFF'),
        (['migrate', 'attach_volume', 'stop', 'create'], 'SHUTOFF'),
        (['evacuate', 'stop', 'create'], 'SHUTOFF'),
        # An earlier run was interrupted.
        (['stop', 'migrate', 'stop', 'create'], 'SHUTOFF'),
        (['stop', 'migrate', 'create'], 'ACTIVE'),
        (['migrate', 'start', 'stop', 'create'], 'ACTIVE'),
        (['migrate', 'reboot', 'stop', 'create'], 'ACTIVE'),
        ([], 'ACTIVE'),
    )
    @ddt.unpack
    def test_server_that_was_stopped_before_it_was_moved_is_not_started(
        self, actions: list[str], status: str
    ) -> None:
        self.cloud.actions = actions
        self.finish()
        self.assertEqual(status, self.cloud.server['status'])
        self.check_recovered()

    def _forgotten(self) -> recovery.Step:
        """Return the step that deletes an attachment, after a plan."""
        self.cloud.server['status'] = 'SHUTOFF'
        self.cloud.modes['refused'] = None
        self.forgotten = self.cloud.create('refused')
        steps = self.cloud.recovery().steps()
        (step,) = (each for each in steps if 'does not know' in each.command)
        return step

    def test_attachment_of_a_later_request_to_nova_stays(self) -> None:
        step = self._forgotten()
        later = self.cloud.create('refused')
        step.run()
        self.assertNotIn(self.forgotten, self.cloud.statuses)
        self.assertIn(later, self.cloud.statuses)

    def test_no_attachment_is_deleted_while_nova_works(self) -> None:
        step = self._forgotten()
        self.cloud.server['OS-EXT-STS:task_state'] = 'resize_prep'
        self.assertRaises(recovery.NotRecoverable, step.run)
        self.assertIn(self.forgotten, self.cloud.statuses)

    def test_status_that_changed_since_the_plan_stays(self) -> None:
        (step,) = (
            each
            for each in self.cloud.recovery().steps()
            if each.command.startswith('openstack volume set --state')
        )
        self.cloud.volumes['other'] = 'deleting'
        step.run()
        self.assertEqual('deleting', self.cloud.volumes['other'])

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

    def test_server_that_does_not_start_ends_the_run_at_once(self) -> None:
        self.patch(recovery, '_SECONDS', 0)
        self.patch(recovery, '_INTERVAL', 0)
        self.cloud.ignores = 'os-start'
        error = self.assertRaises(recovery.NotRecoverable, self.finish)
        self.assertIn('The server is SHUTOFF, not ACTIVE', str(error))
        self.assertIn(f'openstack server event list {SERVER}', str(error))

    def test_answer_of_a_service_does_not_control_the_terminal(self) -> None:
        self.patch(recovery, '_SECONDS', 0)
        self.cloud.ignores = 'os-start'
        message = '\x1b]0;x\x07\r\u202e\x9b2J\ud800'
        self.cloud.server['fault'] = {'message': message}
        error = self.assertRaises(recovery.NotRecoverable, self.finish)
        self.assertIn(ascii(message)[1:-1], str(error))

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
        wanted = self.recovery(Cloud())
        error = self.assertRaises(
            recovery.NotRecoverable, wanted._refresh('volume').run
        )
        return str(error)

    def recovery(self, cloud: Cloud) -> recovery.Recovery:
        """Return a recovery that runs the program."""
        return recovery.Recovery(
            cloud,
            cloud,
            SERVER,
            pathlib.Path('/run/connector.json'),
            'connector.json',
            'destination',
            frozenset({'writeback'}),
            ('--config-file', 'nova.conf'),
        )

    def test_output_of_a_failed_refresh_is_shown(self) -> None:
        error = self.refresh('echo "$@"; echo broken >&2; exit 5')
        self.assertIn('ended with status 5', error)
        words = (
            '--config-file nova.conf volume_attachment refresh '
            f'{SERVER} volume'
        )
        self.assertIn(f'{words} /run/connector.json\nbroken', error)
        self.assertIn(f'nova-manage {words} connector.json ended', error)

    def test_missing_program_is_named_before_any_step(self) -> None:
        error = self.assertRaises(
            recovery.NotRecoverable,
            recovery.Recovery.steps,
            self.recovery(Cloud()),
        )
        self.assertIn(f'no nova-manage beside {sys.executable}', str(error))
