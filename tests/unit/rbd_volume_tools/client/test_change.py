# SPDX-License-Identifier: Apache-2.0

import argparse
import types
from typing import Any

from osc_lib import exceptions

from rbd_volume_tools.client import change
from tests.unit import base
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_PATH = '/volumes/1/metadata'


class ChangeTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client = fake_cloud.Client()
        storage = self.client.storage
        storage.names = {'Volume': {'v': '1'}}
        storage.answers[f'POST {_PATH}'] = {'metadata': {}}
        storage.answers[_PATH] = {'metadata': {}}

    def _fails(self, command: object, *words: str) -> str:
        error = self.assertRaises(
            exceptions.CommandError, self.client.run, command, *words
        )
        self.assertEqual([], self.client.storage.posted)
        return str(error)

    def test_changeable_keys_are_set_and_say_when_they_take_effect(
        self,
    ) -> None:
        text = self.client.run(
            *(change.SetRBDVolume, 'v', '--cache-mode', 'writeback'),
            *('--property', 'colour=blue'),
        )
        self.assertEqual(
            [{'metadata': {'rbd:cache_mode': 'writeback', 'colour': 'blue'}}],
            self.client.storage.posted,
        )
        self.assertIn('rbd:cache_mode=writeback: ', text)

    def test_fixed_key_is_refused_in_one_sentence(self) -> None:
        for command, word in (
            (change.SetRBDVolume, '--property=rbd:stripe_unit=64K'),
            (change.UnsetRBDVolume, 'stripe_unit'),
        ):
            text = self._fails(command, 'v', word)
            self.assertIn('rbd:stripe_unit is fixed', text)
            self.assertIn('openstack volume set --type', text)
            self.assertLess(len(text), 200)

    def test_nothing_to_set_is_refused(self) -> None:
        self.assertIn('--help', self._fails(change.SetRBDVolume, 'v'))

    def test_unset_says_what_belongs_to_it_and_is_left(self) -> None:
        left = {'rbd:iops_burst': '200', 'colour': 'blue'}
        self.client.storage.answers[_PATH] = {'metadata': left}
        text = self.client.run(change.UnsetRBDVolume, 'v', 'iops_limit')
        self.assertEqual(
            [f'{_PATH}/rbd%3Aiops_limit'], self.client.storage.posted
        )
        self.assertIn('rbd:iops_limit: unset', text)
        self.assertIn('rbd:iops_burst=200 is left', text)
        self.assertIn('openstack volume rbd unset v rbd:iops_burst', text)
        self.assertNotIn('colour', text)

    def test_stock_command_says_what_is_left(self) -> None:
        left = {'rbd:iops_burst': '200', 'rbd:cache_mode': 'none'}
        self.client.storage.answers[_PATH] = {'metadata': left}
        stock: Any = types.SimpleNamespace(app=self.client)
        hook = change.UnsetHook(stock)

        def after(*properties: str, code: int = 0) -> str:
            args = argparse.Namespace(volume='v', properties=properties)
            with self.assertLogs('rbd_volume_tools', 'DEBUG') as logged:
                change.LOG.debug('-')
                self.assertEqual(code, hook.after(args, code))
            return ' '.join(logged.output[1:])

        text = after('rbd:iops_limit', 'colour')
        self.assertIn('rbd:iops_burst=200 is left', text)
        self.assertNotIn('cache_mode', text)
        self.assertEqual('', after('colour'))
        self.assertEqual('', after('rbd:iops_limit', code=1))
        # The command has done its work also if this cannot be read.
        self.client.storage.answers.clear()
        self.assertEqual('', after('rbd:iops_limit'))

    def test_burst_is_unset_before_its_limit(self) -> None:
        self.client.run(
            change.UnsetRBDVolume, 'v', 'rbd:iops_limit', 'rbd:iops_burst'
        )
        self.assertEqual(
            [f'{_PATH}/rbd%3Aiops_burst', f'{_PATH}/rbd%3Aiops_limit'],
            self.client.storage.posted,
        )
