#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Unit tests of cinder_rbd_ext.bench.published."""

import ddt

from cinder_rbd_ext.bench import published
from cinder_rbd_ext.bench import results
from cinder_rbd_ext.bench import steady
from tests.unit import base
from tests.unit.cinder_rbd_ext.bench import samples


@ddt.ddt
class PublishedTest(base.TestCase):
    def compare(self, *given: results.Sample) -> list[published.Compared]:
        return published.compare(samples.parsed(), samples.found(*given))

    @ddt.data(
        (2.0, [200], [100], published.REPRODUCED),
        (2.0, [150], [100], published.REPRODUCED),
        (2.0, [120], [100], published.WEAKER),
        (2.0, [102], [100], published.NO_DIFFERENCE),
        (2.0, [120, 90], [100, 110], published.NO_DIFFERENCE),
        (2.0, [50], [100], published.OPPOSITE),
        (0.7, [80], [100], published.REPRODUCED),
        (0.7, [150], [100], published.OPPOSITE),
        (1.04, [100], [100], published.REPRODUCED),
        (None, [200], [100], published.NO_FIGURE),
    )
    @ddt.unpack
    def test_verdict(
        self,
        wanted: float | None,
        of: list[float],
        to: list[float],
        expected: str,
    ) -> None:
        self.assertEqual(
            expected,
            published.verdict(wanted, steady.spread(of), steady.spread(to)),
        )

    def test_explanations(self) -> None:
        cache, striping, mapped = self.compare(
            samples.sample(100.0),
            samples.sample(90.0, cache_mode='writeback'),
            samples.sample(110.0, layout='striped'),
            samples.sample(0.05, features='without'),
            samples.sample(10.0, features='with'),
        )
        self.assertEqual(0.9, cache.ratio)
        text = ' '.join(cache.reasons)
        for part in (
            'rbd_cache_policy is writearound',
            'The workload never flushes',
            '90 and 100 operations per second',
            'shares its 2 cores',
            'Single measurements',
        ):
            self.assertIn(part, text)
        self.assertIn('The cluster has 3 OSDs', striping.reasons[0])
        self.assertRegex(striping.reasons[0], r'a factor of 1\.\d\d at most')
        self.assertIn('all 262,144 objects', mapped.reasons[0])
        self.assertIn('20.0 s, 13,107 requests', mapped.reasons[0])
        self.assertEqual(published.REPRODUCED, mapped.verdict)

    def test_not_measured(self) -> None:
        cache, striping, _ = self.compare(
            samples.sample(100.0),
            samples.sample(0, error='QEMU failed', cache_mode='writeback'),
        )
        self.assertEqual(published.NOT_MEASURED, cache.verdict)
        self.assertEqual(('QEMU failed',), cache.reasons)
        self.assertEqual(('It was not selected.',), striping.reasons)
