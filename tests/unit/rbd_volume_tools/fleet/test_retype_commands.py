# SPDX-License-Identifier: Apache-2.0

import pathlib

import ddt
import fixtures

from rbd_volume_options import definitions
from rbd_volume_tools.audit import maintenance
from rbd_volume_tools.fleet import volume_service
from tests.unit.rbd_volume_tools.fleet import commands
from tests.unit.rbd_volume_tools.fleet import fake_cinder

_INTERVAL = 'rbd_volume_tools.fleet.retypes.INTERVAL'
_TYPES = ('--from', 'old', '--to', 'new')


@ddt.ddt
class RetypeTest(commands.CommandTestCase):
    noun = 'retype'

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
        self.pool.get_instance_id = lambda: 41  # type: ignore[attr-defined]

    def planned(self, *words: str) -> dict[str, str]:
        """Make a plan and return the status of each volume."""
        self.status = self.plan(*_TYPES, *words)
        return self.statuses()

    def applied(self, *words: str) -> dict[str, str]:
        """Apply the plan and return the status of each volume."""
        self.status = self.apply('--ceph-conf', self.conf, *words)
        return self.statuses()

    def statuses(self) -> dict[str, str]:
        if not self.out.getvalue():
            return {}
        return {each['Volume']: each['Status'] for each in self.rows()}

    def test_all_volumes_of_the_type_are_retyped(self) -> None:
        self.assertEqual(dict.fromkeys('abc', 'planned'), self.planned())
        self.assertEqual([], self.cinder.requested)
        self.assertEqual(dict.fromkeys('abc', 'done'), self.applied())
        self.assertEqual(0, self.status)
        self.assertIn('3 volumes: 3 done', self.err.getvalue())
        self.assertEqual(dict.fromkeys('abc', 'done earlier'), self.applied())
        self.assertEqual({}, self.planned())

    def test_says_what_stays_without_keys_in_the_new_type(self) -> None:
        made = {
            definitions.ATTRIBUTE_STRIPE_UNIT: 65536,
            definitions.ATTRIBUTE_STRIPE_COUNT: 8,
        }
        for ident in 'ab':
            self.cinder.change(ident, made=made)
        self.cinder.made = {**made, definitions.ATTRIBUTE_STRIPE_COUNT: 4}
        self.planned()
        self.assertIn('new does not set rbd:stripe_unit.', self.err.getvalue())
        self.applied()
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
        (('c', '--project', 'other'), 'c'),
    )
    @ddt.unpack
    def test_volumes_are_chosen_by_project_and_id(
        self, words: tuple[str, ...], expected: str
    ) -> None:
        self.cinder.change('b', project='deleted')
        self.assertEqual(
            dict.fromkeys(expected, 'planned'), self.planned(*words)
        )

    @ddt.data(
        (('--project', 'other', '--project', 'name'), '--project name: '),
        (('x', 'a'), 'There is no volume x.'),
        (('a', 'c', '--project', 'other'), '--project: a.'),
        (('--to', 'OLD'), 'are the same type'),
        (('--migration-policy', 'always'), 'invalid choice'),
        (('-c', 'volume_id'), "column names in ['volume_id']"),
    )
    @ddt.unpack
    def test_wrong_choice_makes_no_plan(
        self, words: tuple[str, ...], text: str
    ) -> None:
        self.assertEqual({}, self.planned(*words))
        self.assertEqual(3, self.status)
        self.assertIn(text, self.err.getvalue())
        self.assertFalse(self.path.exists())

    def test_other_user_is_told_which_volumes_were_not_seen(self) -> None:
        self.service.is_administrators.return_value = False
        self.planned()
        self.assertEqual(1, self.status)
        self.assertIn('other projects were not', self.err.getvalue())
        self.assertEqual(dict.fromkeys('abc', 'done'), self.applied())
        self.err.truncate(0)
        self.planned('a')
        self.assertEqual(0, self.status)
        self.assertNotIn('were not seen', self.err.getvalue())

    def test_plan_shows_what_is_not_retyped(self) -> None:
        self.cinder.change('a', status='in-use')
        self.cinder.change('b', status='retyping')
        self.cinder.change('c', status='error')
        self.cinder.add('e', volume_type='new')
        self.assertEqual(
            {
                'a': 'planned',
                'b': 'planned',
                'c': 'refused',
                'd': 'refused',
                'e': 'unchanged',
            },
            self.planned(*'abcde'),
        )
        self.assertEqual(1, self.status)
        details = {each['Volume']: each['Detail'] for each in self.rows()}
        self.assertIn('image features', details['a'])
        self.assertIn('wait for status retyping', details['b'])

    def test_unhealthy_cluster(self) -> None:
        self.health = '{"status": "HEALTH_ERR"}'

        def recover(message: str) -> None:
            said.append(message)
            if 'HEALTH_ERR' in message:
                self.health = '{"status": "HEALTH_OK"}'

        said: list[str] = []
        self.planned()
        self.replace(maintenance, 'say', side_effect=recover)
        interval = 'rbd_volume_tools.command_line.health.INTERVAL'
        self.useFixture(fixtures.MonkeyPatch(interval, 0.01))
        self.assertEqual(dict.fromkeys('abc', 'done'), self.applied())
        self.assertIn('HEALTH_ERR', said[0])
        self.assertIn('recovered', said[1])

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
        self.planned()
        self.assertEqual(dict.fromkeys('abc', 'done'), self.applied(*words))
        shown = 'is not read' in self.err.getvalue()
        self.assertIs(case != 'not wanted', shown)

    def test_ceph_conf_of_another_cloud_is_refused(self) -> None:
        self.planned()
        self.service.clusters.return_value = frozenset({'other'})
        self.assertEqual({}, self.applied())
        self.assertEqual(3, self.status)
        self.assertEqual([], self.cinder.requested)
        self.assertIn('this cloud use other', self.err.getvalue())
        self.service.clusters.return_value = frozenset({'other', 'fsid'})
        self.assertEqual(dict.fromkeys('abc', 'done'), self.applied())

    def test_volume_without_an_answer_fails_the_run(self) -> None:
        real = self.cinder.retype

        def give_up(ident: str, target: str, policy: str) -> str:
            warning = real(ident, target, policy)
            self.cinder.silent = 10**9
            return warning

        self.planned('a')
        self.service.retype.side_effect = give_up
        self.assertEqual({'a': 'failed'}, self.applied('--patience', '0.0001'))
        self.assertEqual(3, self.status)
        self.assertIn('for too long', self.err.getvalue())

    def test_policy_reaches_the_request(self) -> None:
        self.planned('a', '--migration-policy', 'on-demand')
        self.applied()
        self.service.retype.assert_called_once_with('a', 'NEW', 'on-demand')

    @ddt.data(
        ('--per-minute', '0'),
        ('--at-once', '0'),
        ('--limit', 'x'),
        ('--patience', '0'),
    )
    def test_invalid_arguments_are_refused(
        self, arguments: tuple[str, ...]
    ) -> None:
        self.planned()
        self.assertEqual({}, self.applied(*arguments))
        self.assertEqual(3, self.status)
