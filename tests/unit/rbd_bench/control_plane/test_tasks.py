# SPDX-License-Identifier: Apache-2.0

import dataclasses
from typing import Any

import jinja2
import yaml

from rbd_bench.control_plane import plan
from rbd_bench.control_plane import tasks
from tests.unit import base

_VOLUMES = tasks.Choices(('stock', 'rbd'))
_SERVERS = tasks.Choices(('stock', 'rbd'), 'tiny', 'small', 'net')


def _plan(**changed: Any) -> plan.Plan:
    whole_plan = plan.load()
    settings = dataclasses.replace(whole_plan.settings, **changed)
    return dataclasses.replace(whole_plan, settings=settings)


class TasksTest(base.TestCase):
    def test_types_take_turns(self) -> None:
        whole_plan = _plan(rounds=2)
        titles = [x.title for x in tasks.workloads(whole_plan, _VOLUMES, 16)]
        self.assertEqual(
            [
                'create-and-delete/16/first/0',
                'create-and-delete/16/second/0',
                'create-from-volume/16/first/0',
            ],
            titles[:3],
        )
        self.assertEqual(
            ['create-and-delete/16/second/1', 'create-and-delete/16/first/1'],
            titles[6:8],
        )
        self.assertEqual(len(titles), len(set(titles)))

    def test_clones_use_the_second_volume_type(self) -> None:
        task = tasks.task(_plan(times=20), _VOLUMES, 16)
        by_title = {each['title']: each for each in task['subtasks']}
        clone = by_title['create-from-volume/16/second/0']
        self.assertEqual(
            {
                'CinderVolumes.create_from_volume_and_delete_volume': {
                    'size': 1,
                    'volume_type': 'rbd',
                }
            },
            clone['scenario'],
        )
        self.assertEqual(
            {'volumes': {'size': 1, 'type': 'rbd'}}, clone['contexts']
        )
        self.assertEqual(
            {'constant': {'times': 20, 'concurrency': 16}}, clone['runner']
        )

    def test_servers_have_levels_of_their_own(self) -> None:
        whole_plan = _plan(at_once=(16,), servers_at_once=(2,), server_times=3)
        self.assertEqual([2, 16], tasks.levels(whole_plan, _SERVERS))
        task = tasks.task(whole_plan, _SERVERS, 2)
        self.assertEqual(
            {'create-and-attach'},
            {each['title'].partition('/')[0] for each in task['subtasks']},
        )
        first = task['subtasks'][0]
        (arguments,) = first['scenario'].values()
        self.assertEqual({'name': 'tiny'}, arguments['image'])
        self.assertEqual({'name': 'small'}, arguments['flavor'])
        self.assertEqual(
            {'volume_type': 'stock'}, arguments['create_volume_params']
        )
        self.assertEqual(
            {'nics': [{'net-id': 'net'}]}, arguments['create_vm_params']
        )
        self.assertEqual(
            {'constant': {'times': 3, 'concurrency': 2}}, first['runner']
        )

    def test_no_servers_without_an_image_or_a_flavor(self) -> None:
        for choices in (
            _VOLUMES,
            dataclasses.replace(_SERVERS, image=None),
            dataclasses.replace(_SERVERS, flavor=None),
        ):
            names = [x.name for x in tasks.scenarios(plan.load(), choices)]
            self.assertNotIn('create-and-attach', names)

    def test_no_network(self) -> None:
        choices = dataclasses.replace(_SERVERS, network=None)
        first = tasks.task(plan.load(), choices, 1)['subtasks'][-1]
        (arguments,) = first['scenario'].values()
        self.assertEqual({'nics': []}, arguments['create_vm_params'])

    def test_text_is_no_template(self) -> None:
        name = 'é {{ 7 * 7 }} {% if %} "'
        task = tasks.task(plan.load(), tasks.Choices((name, 'b')), 1)
        # As rally reads it.
        shown = jinja2.Template(tasks.text(task)).render()
        self.assertEqual(task, yaml.safe_load(shown))

    def test_volumes_are_counted_for_the_quota(self) -> None:
        whole_plan = _plan(at_once=(1, 16), times=4)
        # A source and a clone for each of 16 iterations.
        self.assertEqual(32, tasks.volumes(whole_plan, _VOLUMES))
        whole_plan = _plan(at_once=(1,), times=40)
        self.assertEqual(80, tasks.volumes(whole_plan, _VOLUMES))
        only = dataclasses.replace(
            whole_plan, scenarios=whole_plan.scenarios[1:2]
        )
        # One more is the source of all clones.
        self.assertEqual(41, tasks.volumes(only, _VOLUMES))
