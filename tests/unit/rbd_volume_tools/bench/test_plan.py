# SPDX-License-Identifier: Apache-2.0

import math
from typing import Any

import ddt
import hypothesis
import jinja2
import yaml

from rbd_volume_options import errors
from rbd_volume_tools.bench import plan
from tests import tree
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.bench import samples


@ddt.ddt
class PlanTest(untrusted.TestCase):
    @hypothesis.given(
        untrusted.YAML
        | untrusted.altered(yaml.safe_load(samples.PLAN)).map(yaml.safe_dump)
    )
    @hypothesis.example('name: 2026-13-01')
    @hypothesis.example('name: !!bool a')
    @hypothesis.example(samples.PLAN.replace('ratio: 2', 'ratio: .nan', 1))
    def test_any_text_is_a_plan_or_refused(self, text: str) -> None:
        try:
            parsed = samples.from_text(text)
        except errors.OptionError:
            return
        ratios = (x.ratio for x in parsed.published)
        self.assertTrue(all(x is None or 0 < x < math.inf for x in ratios))

    @ddt.data(*plan.names())
    def test_shipped_plan_is_valid_in_both_lengths(self, name: str) -> None:
        self.assertLess(
            plan.load(name, short=True).settings.repetitions,
            plan.load(name).settings.repetitions,
        )

    def test_unnamed_axes_have_defaults(self) -> None:
        run = samples.parsed().runs[0]
        self.assertEqual(('off',), run.axes['io_thread'])
        self.assertEqual(('writearound',), run.axes['cache_policy'])
        self.assertEqual({'default': {}}, run.features)

    def test_baseline_comes_first(self) -> None:
        values = samples.parsed().runs[0].values
        self.assertEqual(('stock', 'striped'), values['layout'])
        self.assertEqual(('none', 'writeback', 'unsafe'), values['cache_mode'])

    @ddt.data(
        ('cache_modes: [none, ', 'cache_modes: [fast, ', "'fast'.*none"),
        ('stripe_unit', 'stripe_size', 'rbd:stripe_size.*unexpected'),
        ("stripe_unit': 64K", "stripe_unit': 65K", 'not a power of two'),
        ("stripe_unit': 64K", "stripe_unit': 8M", 'factor'),
        ("'rbd:object_map': 'true'", "'rbd:cache_mode': none", 'cache_mode'),
        ('path: qemu', 'path: nbd', "path: 'nbd'.*librbd"),
        ('path: qemu', 'path: librbd', "'unsafe'.*none"),
        ('path: qemu', 'path: krbd', 'cache_modes'),
        ('repetitions: 2', 'repetitions: 0', 'settings.repetitions'),
        ('runtime: 1', 'run: 1', 'settings.*runtime'),
        ('name: deletion', 'name: disks', 'duplicate name'),
        ('name: mixed', 'name: small', 'duplicate name'),
        ('ratio: 60', 'ratio: -1', 'published.2..ratio'),
        ('of: {features: with}', "of: {features: 'yes'}", 'without, with'),
        ('sizes: [1024G]', 'sizes: [many]', 'sizes.0.'),
        ('runs:', 'runs: [', 'not YAML'),
        ('sizes: [1024G]', 'sizes: [9999999999G]', 'out of range'),
        ('size: 1G', 'size: 0', 'settings.image_size'),
        ('size: 1G', 'size: 1K', 'from 1M'),
        ('block_size: 4K', 'block_size: 600', 'multiple of 512'),
        ('short: {repetitions: 1}', 'short: [1]', 'short = '),
        ('queue_depth: 16}', 'jobs: 2}', 'pattern'),
        ('pattern: write,', 'pattern: write, read_percent: 5,', 'pattern'),
        (
            "with: {'rbd:object_map': 'true'}\n",
            "with: {'rbd:object_map': 'true'}\n"
            "    layouts: {mapped: {'rbd:object_map': 'true'}}\n",
            'set in layouts and in features',
        ),
    )
    @ddt.unpack
    def test_invalid_plan_names_what_is_wrong(
        self, old: str, new: str, text: str
    ) -> None:
        changed = samples.PLAN.replace(old, new, 1)
        self.assertNotEqual(samples.PLAN, changed)
        error = self.assertRaises(
            errors.OptionError, samples.from_text, changed
        )
        self.assertRegex(str(error), text)

    def test_plan_without_published_ratios(self) -> None:
        start, _, _ = samples.PLAN.partition('published:')
        self.assertEqual((), samples.from_text(start).published)

    def test_guest_plan_has_no_axis_of_the_host(self) -> None:
        run = samples.from_text(samples.GUEST_PLAN).runs[0]
        self.assertEqual({'cache_mode', 'cache_policy'}, set(run.axes))
        # The compute host decides on I/O threads.
        text = samples.GUEST_PLAN.replace(
            '    cache_modes', "    io_threads: ['on']\n    cache_modes", 1
        )
        error = self.assertRaises(errors.OptionError, samples.from_text, text)
        self.assertIn('io_threads', str(error))

    def test_settings_replace_those_of_the_plan(self) -> None:
        settings: dict[str, Any] = {'runtime': 7, 'image_size': '2M'}
        parsed = samples.from_text(samples.PLAN, short=True, settings=settings)
        self.assertEqual(plan.Settings(0, 7, 1, 2 << 20), parsed.settings)
        # Results store what was measured.
        self.assertEqual(parsed, plan.parse(parsed.document))


class RallyTest(base.TestCase):
    """The task file for rally, which is not installed here."""

    def test_types_take_turns_in_each_round(self) -> None:
        path = tree.ROOT / 'rbd_volume_tools/bench/rally.yaml'
        template = jinja2.Template(path.read_text())
        task = yaml.safe_load(
            template.render(types=['a', 'b'], at_once=[4], rounds=2, times=1)
        )
        (first, *_), subtasks = task['subtasks'], task['subtasks']
        self.assertEqual(
            {'times': 4, 'concurrency': 4}, first['runner']['constant']
        )
        order = [x['title'].split(', ')[1] for x in subtasks]
        self.assertEqual([*'aaabbb', *'bbbaaa'], order)
