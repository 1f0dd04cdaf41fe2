# SPDX-License-Identifier: Apache-2.0

import contextlib
import dataclasses
import pathlib
from typing import Any

import ddt
import fixtures
import hypothesis
import yaml

from rbd_bench.control_plane import plan
from rbd_volume_options import errors
from tests.unit import untrusted


def _settings(**changed: Any) -> plan.Settings:
    values = dataclasses.asdict(plan.load().settings)
    for name in ('at_once', 'servers_at_once'):
        values[name] = list(values[name])
    return plan.read_settings('options', {**values, **changed})


def _content() -> Any:
    path = pathlib.Path(plan.__file__).with_name(plan.FILE)
    return yaml.safe_load(path.read_text())


@ddt.ddt
class PlanTest(untrusted.TestCase):
    @hypothesis.given(untrusted.altered(_content()).map(yaml.safe_dump))
    def test_any_text_is_a_plan_or_refused(self, text: str) -> None:
        with contextlib.suppress(errors.OptionError):
            plan.parse(text)

    def test_plan_of_the_package(self) -> None:
        whole_plan = plan.load()
        self.assertEqual((1, 16, 64), whole_plan.settings.at_once)
        self.assertEqual(
            [
                'create-and-delete',
                'create-from-volume',
                'create-volume-and-clone',
                'create-and-attach',
            ],
            [each.name for each in whole_plan.scenarios],
        )

    def test_levels_of_servers_are_their_own(self) -> None:
        settings = _settings(at_once=[16], servers_at_once=[2])
        volumes, servers = (
            each
            for each in plan.load().scenarios
            if each.name in ('create-and-delete', 'create-and-attach')
        )
        self.assertEqual((16,), volumes.levels(settings))
        self.assertEqual((2,), servers.levels(settings))

    def test_iterations_are_enough_for_a_level(self) -> None:
        settings = _settings(times=3)
        scenario = plan.load().scenarios[0]
        self.assertEqual(3, scenario.iterations(settings, 1))
        self.assertEqual(64, scenario.iterations(settings, 64))

    def test_interval_grows_with_the_level(self) -> None:
        settings = _settings(
            shortest_poll_milliseconds=200, polls_per_second=10
        )
        self.assertEqual(0.2, settings.poll(1))
        self.assertEqual(6.4, settings.poll(64))

    def test_plan_is_loaded_from_a_file(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'mine'
        content = _content()
        path.write_text(yaml.safe_dump({**content, 'name': 'mine'}))
        self.assertEqual('mine', plan.load(path).name)

    @ddt.data(
        ('size', 0),
        ('rounds', 'many'),
        ('at_once', []),
        ('at_once', [1, 1]),
        ('at_once', [0]),
        ('servers_at_once', 1),
        ('polls_per_second', 0),
        ('speed', 1),
    )
    @ddt.unpack
    def test_setting_that_is_refused(self, name: str, value: Any) -> None:
        error = self.assertRaises(
            errors.OptionError, _settings, **{name: value}
        )
        self.assertIn(f'options.{name}', str(error))

    @ddt.data(
        ('actions', {}, 'actions'),
        ('actions', {'create': 1}, 'actions'),
        ('arguments', [], 'arguments'),
        ('servers', 'yes please', 'servers'),
        ('volumes', 0, 'volumes'),
        ('speed', 1, 'speed'),
    )
    @ddt.unpack
    def test_scenario_that_is_refused(
        self, name: str, value: Any, expected: str
    ) -> None:
        content = _content()
        content['scenarios'][0][name] = value
        error = self.assertRaises(
            errors.OptionError, plan.parse, yaml.safe_dump(content)
        )
        self.assertIn(f'scenarios[0].{expected}', str(error))

    def test_names_are_unique(self) -> None:
        content = _content()
        content['scenarios'][1]['name'] = content['scenarios'][0]['name']
        error = self.assertRaises(
            errors.OptionError, plan.parse, yaml.safe_dump(content)
        )
        self.assertIn('duplicate name', str(error))

    @ddt.data('- [', '{}')
    def test_no_plan(self, text: str) -> None:
        self.assertRaises(errors.OptionError, plan.parse, text)

    def test_no_file(self) -> None:
        error = self.assertRaises(
            errors.OptionError, plan.load, pathlib.Path('/none/such')
        )
        self.assertIn('--plan', str(error))
