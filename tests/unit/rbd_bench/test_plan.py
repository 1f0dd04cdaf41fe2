# SPDX-License-Identifier: Apache-2.0

import math
from typing import Any

import ddt
import hypothesis
import yaml

from rbd_bench import fields
from rbd_bench import plan
from rbd_volume_options import errors
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_bench import samples


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
            whole_plan = plan.parse(text)
        except errors.OptionError:
            return
        ratios = (each.ratio for each in whole_plan.published)
        self.assertTrue(all(x is None or 0 < x < math.inf for x in ratios))

    def test_unnamed_axes_have_defaults(self) -> None:
        run = samples.parsed().runs[0]
        self.assertEqual(('off',), run.axes['io_thread'])
        self.assertEqual(('libc',), run.axes['allocator'])
        self.assertEqual({'default': {}}, run.features)

    def test_baseline_comes_first(self) -> None:
        values = plan.values(samples.parsed().runs[0])
        self.assertEqual(('stock', 'striped'), values['layout'])
        self.assertEqual(('none', 'writeback', 'unsafe'), values['cache_mode'])

    @ddt.data(
        (
            'cache_modes: [none, ',
            'cache_modes: [fast, ',
            "modes.0. = 'fast'.*none",
        ),
        ('stripe_unit', 'stripe_size', 'rbd:stripe_size.*rbd:stripe_unit'),
        ("stripe_unit': 64K", "stripe_unit': 65K", 'not a power of two'),
        ("'rbd:object_map': 'true'", "'rbd:cache_mode': none", 'unknown key'),
        ('path: qemu', 'path: nbd', "path = 'nbd'.*librbd, qemu"),
        ('path: qemu', 'path: librbd', "'unsafe'.*none, writeback"),
        ('repetitions: 2', 'repetitions: 0', 'settings.repetitions'),
        ('runtime: 1', 'run: 1', 'settings.run = .*unknown key'),
        ('name: deletion', 'name: disks', 'duplicate name'),
        ('ratio: 60', 'ratio: -1', 'published.2..ratio'),
        ('of: {features: with}', 'of: {features: yes}', 'without, with'),
        ('explain: [osds]', 'explain: [magic]', 'published.1..explain'),
        ('sizes: [1T]', 'sizes: [many]', 'sizes.0.'),
        ('runs:', 'runs: [', 'not YAML'),
        ('sizes: [1T]', 'sizes: [0]', "sizes.0. = '0'.*from 1M"),
        ('sizes: [1T]', 'sizes: [9999999999T]', 'sizes.0.*out of range'),
        ('size: 1G', 'size: 0', 'settings.image_size.*from 1M'),
        (
            'name: disks',
            'name: Deletion',
            r'runs.1..*duplicate name, as .Deletion',
        ),
        ('name: disks', 'name: \xfc', r'runs.0..name.*from a to z'),
        ('explain: [osds]', 'explain: [objects]', 'published.1.*osds, cache'),
        ('explain: [objects]', 'explain: [flush]', 'published.2.*rate, obj'),
        ('short: {repetitions: 1}', 'short: [1]', 'short = .*not a mapping'),
    )
    @ddt.unpack
    def test_invalid_plans_are_refused(
        self, old: str, new: str, text: str
    ) -> None:
        changed = samples.PLAN.replace(old, new, 1)
        self.assertNotEqual(samples.PLAN, changed)
        error = self.assertRaises(
            errors.OptionError, plan.parse, changed, 'short' in old + new
        )
        self.assertRegex(str(error), text)

    @ddt.data('published:', 'published: []', '')
    def test_nothing_published(self, line: str) -> None:
        start, _, _ = samples.PLAN.partition('published:')
        self.assertEqual((), plan.parse(start + line).published)

    def test_published_that_is_not_a_list(self) -> None:
        start, _, _ = samples.PLAN.partition('published:')
        text = f'{start}published: 5'
        error = self.assertRaises(errors.OptionError, plan.parse, text)
        self.assertIn("published = '5': not a list", str(error))

    def test_guest_plan_has_no_axis_of_the_host(self) -> None:
        run = plan.parse(samples.GUEST_PLAN).runs[0]
        self.assertEqual(
            {'cache_mode': ('none', 'writeback', 'unsafe')}, run.axes
        )
        # The compute host decides on I/O threads.
        text = samples.GUEST_PLAN.replace(
            '    cache_modes', "    io_threads: ['on']\n    cache_modes", 1
        )
        error = self.assertRaises(errors.OptionError, plan.parse, text)
        self.assertIn('io_threads', str(error))

    def test_key_in_layouts_and_features(self) -> None:
        text = samples.PLAN.replace(
            '    features:\n',
            "    layouts: {mapped: {'rbd:object_map': 'true'}}\n"
            '    features:\n',
        )
        error = self.assertRaises(errors.OptionError, plan.parse, text)
        self.assertIn('set in layouts too', str(error))


@ddt.ddt
class VariantsTest(base.TestCase):
    def read(self, layouts: Any) -> dict[str, plan.Keys]:
        run = fields.Fields('runs[0]', {'layouts': layouts}, ('layouts',))
        return plan.read_variants(run, 'layouts')

    def test_variants_have_keys_of_volumes(self) -> None:
        self.assertEqual(
            {'stock': {}, 'small': {'rbd:object_size': '1M'}},
            self.read({'stock': None, 'small': {'rbd:object_size': '1M'}}),
        )

    def test_default_variant_has_no_keys(self) -> None:
        run = fields.Fields('runs[0]', {}, ())
        self.assertEqual({'default': {}}, plan.read_variants(run, 'layouts'))

    @ddt.data(
        (
            {'x': {'rbd:stripe_unit': '8M', 'rbd:stripe_count': 2}},
            r'runs\[0\].layouts.x.rbd:stripe_unit = .*factor.*to 4 MiB',
        ),
        ({'x': {'rbd:stripe_unit': '64K'}}, r'layouts\.x.*stripe_count'),
        ({'x': {'rbd:object_size': '3M'}}, "layouts.x.*'3M'.*power of two"),
        ({'x': 5}, 'layouts.x = .*not a mapping'),
        ({}, 'not a mapping'),
        ({5: {}}, 'not a name'),
    )
    @ddt.unpack
    def test_invalid_variants_are_refused(self, value: Any, text: str) -> None:
        error = self.assertRaises(errors.OptionError, self.read, value)
        self.assertRegex(str(error), text)

    def test_keys_of_layout_and_features_do_not_contradict(self) -> None:
        run = fields.Fields('runs[0]', {}, ())
        layouts = {'a': {'rbd:features': 'layering'}}
        for keys, text in (
            ({'rbd:features': 'layering'}, 'set in layouts too'),
            ({'rbd:object_map': 'true'}, r'features\.b.*contradicts'),
        ):
            error = self.assertRaises(
                errors.OptionError,
                *(plan.check_together, run, layouts, {'b': keys}),
            )
            self.assertRegex(str(error), text)
