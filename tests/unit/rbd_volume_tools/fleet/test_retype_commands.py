# SPDX-License-Identifier: Apache-2.0

import dataclasses
import functools
import json
import pathlib

import ddt
import fixtures

from rbd_volume_options import wire
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.command_line import health
from rbd_volume_tools.fleet import retypes
from rbd_volume_tools.fleet import volume_service
from tests.unit.rbd_volume_tools.fleet import commands
from tests.unit.rbd_volume_tools.fleet import fake_cinder

_INTERVAL = 'rbd_volume_tools.fleet.retypes.INTERVAL'
_TYPES = ('--from', 'old', '--to', 'new')


@ddt.ddt
class RetypeTest(commands.CommandTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cinder = fake_cinder.Cinder('a', 'b', 'c')
        self.cinder.change('c', project='other')
        self.cinder.add('d', volume_type='third')
        service = self.replace(volume_service, 'VolumeService').return_value
        self.service = service
        service.type_of.side_effect = self.cinder.type_of
        service.clusters.return_value = frozenset()
        service.volumes.side_effect = self.cinder.listed
        service.show.side_effect = self.cinder.show
        service.retype.side_effect = self.cinder.retype
        self.useFixture(fixtures.MonkeyPatch(_INTERVAL, 0.0001))
        self.health = '{"status": "HEALTH_OK"}'
        conf = self.journal.parent / 'ceph.conf'
        conf.touch()
        self.conf = str(conf)
        # What a connection of the command is.
        self.pool.mon_command = lambda *args: (
            0,
            self.health.encode(),
            '',
        )

    def retype(self, *words: str) -> dict[str, str]:
        """Run the command and return the status of each volume."""
        self.out.truncate(0)
        self.out.seek(0)
        command = ('retype', *_TYPES, '--ceph-conf', self.conf, *words)
        self.status = self.run_command(*command)
        if not self.out.getvalue():
            return {}
        return {each['Volume']: each['Status'] for each in self.rows()}

    def test_all_volumes_of_the_type_are_retyped(self) -> None:
        self.assertEqual(dict.fromkeys('abc', 'done'), self.retype())
        self.assertEqual(0, self.status)
        self.assertIn('3 volumes: 3 done', self.err.getvalue())
        self.assertEqual({}, self.retype())

    def test_says_what_stays_without_keys_in_the_new_type(self) -> None:
        made = {
            wire.ATTRIBUTE_STRIPE_UNIT: 65536,
            wire.ATTRIBUTE_STRIPE_COUNT: 8,
        }
        for ident in 'ab':
            self.cinder.change(ident, made=made)
        self.cinder.made = {**made, wire.ATTRIBUTE_STRIPE_COUNT: 4}
        self.retype()
        self.assertIn('new does not set rbd:stripe_unit.', self.err.getvalue())
        details = {each['Volume']: each['Detail'] for each in self.rows()}
        self.assertEqual(
            'retyped to new; keeps stripe_unit = 64 KiB', details['a']
        )
        self.assertEqual('retyped to new', details['c'])

    @ddt.data(
        (('--project', 'other'), 'c'),
        (('--project', 'Ümlaut'), 'c'),
        (('--project', 'deleted'), 'b'),
        (('c', 'a'), 'ac'),
        (('--limit', '1'), 'a'),
    )
    @ddt.unpack
    def test_volumes_are_chosen_by_project_id_and_limit(
        self, words: tuple[str, ...], expected: str
    ) -> None:
        self.cinder.change('b', project='deleted')
        self.assertEqual(dict.fromkeys(expected, 'done'), self.retype(*words))

    def test_unknown_project_is_refused(self) -> None:
        self.retype('--project', 'other', '--project', 'name')
        self.assertEqual(3, self.status)
        self.assertIn('--project name: ', self.err.getvalue())
        self.assertEqual([], self.cinder.requested)

    def test_other_user_is_told_which_volumes_were_not_seen(self) -> None:
        self.service.is_administrators.return_value = False
        del self.cinder.volumes['c']
        for words in (('--dry-run',), (), ()):
            self.retype(*words)
            self.assertEqual(1, self.status)
            self.assertIn('other projects were not', self.err.getvalue())
            self.err.truncate(0)
            self.err.seek(0)
        self.cinder.refused['e'] = 'not allowed'
        self.cinder.add('e')
        self.assertEqual({'e': 'refused'}, self.retype())
        self.assertEqual(1, self.status)

    def test_other_user_may_name_all_volumes(self) -> None:
        self.service.is_administrators.return_value = False
        self.assertEqual({'a': 'done'}, self.retype('a'))
        self.assertEqual(0, self.status)
        self.assertNotIn('were not seen', self.err.getvalue())

    def test_named_volume_of_another_type(self) -> None:
        self.assertEqual({'d': 'refused'}, self.retype('d'))
        self.assertEqual(1, self.status)

    def test_column_that_does_not_exist_is_refused_before_a_change(
        self,
    ) -> None:
        self.assertEqual({}, self.retype('-c', 'volume_id'))
        self.assertEqual(3, self.status)
        self.assertEqual([], self.cinder.requested)
        self.assertIn("column names in ['volume_id']", self.err.getvalue())
        self.retype('-c', 'volume', '-c', 'status')
        self.assertEqual(0, self.status)

    def test_no_such_volume(self) -> None:
        self.retype('x', 'a')
        self.assertEqual(3, self.status)
        self.assertIn('There is no volume x.', self.err.getvalue())

    def test_named_volume_of_a_project_that_was_not_chosen(self) -> None:
        self.assertEqual({'c': 'done'}, self.retype('c', '--project', 'other'))
        self.retype('a', 'c', '--project', 'other')
        self.assertEqual(3, self.status)
        self.assertIn('--project: a.', self.err.getvalue())

    def test_same_type(self) -> None:
        self.assertEqual(
            3, self.run_command('retype', '--from', 'old', '--to', 'OLD')
        )
        self.assertIn('are the same type', self.err.getvalue())

    def test_dry_run(self) -> None:
        self.cinder.change('a', status='in-use')
        self.cinder.change('b', status='retyping')
        self.cinder.change('c', status='error')
        self.cinder.add('e', volume_type='new')
        words = ('--dry-run', '--journal', str(self.journal), *'abce')
        self.assertEqual(
            {'a': 'planned', 'b': 'planned', 'c': 'refused', 'e': 'unchanged'},
            self.retype(*words),
        )
        self.assertEqual([], self.cinder.requested)
        self.assertFalse(self.journal.exists())
        details = {each['Volume']: each['Detail'] for each in self.rows()}
        self.assertIn('image features', details['a'])
        self.assertIn('wait for status retyping', details['b'])

    def test_journal_resumes_a_run(self) -> None:
        """The second run reports what the first one has done."""
        words = ('--journal', str(self.journal))
        self.retype('--limit', '1', *words)
        self.assertEqual(
            {'a': 'done earlier', 'b': 'done', 'c': 'done'},
            self.retype(*words),
        )
        self.assertIn('Resuming', self.err.getvalue())
        lines = self.journal.read_text().splitlines()
        self.assertEqual('retype old NEW', json.loads(lines[0])['command'])

    def test_killed_before_the_end(self) -> None:
        """Cinder completed b after the command was killed."""
        words = ('--journal', str(self.journal))
        self.retype('--limit', '1', *words)
        lines = self.journal.read_text().replace('"a"', '"b"')
        begun = [each for each in lines.splitlines(True) if 'begun' in each]
        with self.journal.open('a') as journal:
            journal.writelines(begun)
        self.cinder.change('b', volume_type='new')
        self.assertEqual(
            {'a': 'done earlier', 'b': 'done', 'c': 'done'},
            self.retype(*words),
        )

    def test_unhealthy_cluster(self) -> None:
        self.health = '{"status": "HEALTH_ERR"}'

        def recover(message: str) -> None:
            said.append(message)
            if 'HEALTH_ERR' in message:
                self.health = '{"status": "HEALTH_OK"}'

        said: list[str] = []
        self.replace(maintenance, 'say', side_effect=recover)
        watch = functools.partial(health.Watch, interval=0.01)
        self.useFixture(
            fixtures.MonkeyPatch(
                'rbd_volume_tools.fleet.retype_commands.health.Watch', watch
            )
        )
        self.assertEqual(dict.fromkeys('abc', 'done'), self.retype())
        self.assertIn('HEALTH_ERR', said[1])
        self.assertIn('recovered', said[2])

    @ddt.data('no file', 'no library', 'not wanted')
    def test_without_ceph(self, case: str) -> None:
        self.health = '{"status": "HEALTH_ERR"}'
        words: tuple[str, ...] = ()
        if case == 'no file':
            pathlib.Path(self.conf).unlink()
        elif case == 'no library':
            self.connected.side_effect = RuntimeError('rados')
        else:
            words = ('--ignore-health',)
        self.assertEqual(dict.fromkeys('abc', 'done'), self.retype(*words))
        shown = 'is not read' in self.err.getvalue()
        self.assertIs(case != 'not wanted', shown)

    def test_ceph_conf_of_another_cloud_is_refused(self) -> None:
        self.service.clusters.return_value = frozenset({'other'})
        self.assertEqual({}, self.retype())
        self.assertEqual(3, self.status)
        self.assertEqual([], self.cinder.requested)
        self.assertIn('this cloud use other', self.err.getvalue())
        self.service.clusters.return_value = frozenset({'other', 'fsid'})
        self.assertEqual(dict.fromkeys('abc', 'done'), self.retype())

    def test_volume_without_progress_is_reported_running(self) -> None:
        real = self.cinder.retype

        def give_up(ident: str, wanted: retypes.Wanted) -> str:
            warning = real(ident, wanted)
            self.cinder.silent = 10**9
            return warning

        self.cinder.retype = give_up  # type: ignore[method-assign]
        self.service.retype.side_effect = give_up
        self.retype('--patience', '0.0001')
        self.assertEqual(3, self.status)
        (row,) = self.rows()
        self.assertEqual('running', row['Status'])

    def test_policy_reaches_the_request(self) -> None:
        self.retype('--migration-policy', 'on-demand', '--limit', '1')
        wanted = self.service.retype.call_args.args[1]
        self.assertEqual(
            {
                'former': 'old',
                'target': 'new',
                'target_id': 'NEW',
                'policy': 'on-demand',
                'unset': ('rbd:stripe_unit',),
            },
            dataclasses.asdict(wanted),
        )

    @ddt.data(
        ('--from', 'a'),
        (*_TYPES, '--rate', '0'),
        (*_TYPES, '--at-once', '0'),
        (*_TYPES, '--limit', 'x'),
        (*_TYPES, '--migration-policy', 'always'),
    )
    def test_invalid_arguments_are_refused(
        self, arguments: tuple[str, ...]
    ) -> None:
        self.assertEqual(3, self.run_command('retype', *arguments))
