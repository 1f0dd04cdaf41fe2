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


"""Unit tests of rbd_bench.volume_types."""

from rbd_bench import plan
from rbd_bench import results
from rbd_bench import summary
from rbd_bench import volume_types
from tests.unit import base
from tests.unit.rbd_bench import samples

_STRIPED_ONLY = samples.PLAN.partition('published:')[0].replace(
    '      stock: {}\n', ''
)


class VolumeTypesTest(base.TestCase):
    def tables(self, *given: results.Sample) -> list[summary.Table]:
        return summary.tables(samples.parsed(), samples.found(*given))

    def test_volume_types_are_found_from_winners(self) -> None:
        tables = self.tables(
            *(
                each
                for load in ('small', 'mixed')
                for rate, layout, mode in (
                    (100.0, 'stock', 'none'),
                    (150.0, 'striped', 'none'),
                    (140.0, 'stock', 'writeback'),
                    (200.0, 'striped', 'writeback'),
                )
                for each in samples.thrice(
                    rate, workload=load, layout=layout, cache_mode=mode
                )
            ),
            *samples.thrice(10.0, features='without'),
            *samples.thrice(50.0, features='with'),
        )
        striped, mapped = volume_types.find(tables)
        self.assertEqual(('small', 'mixed'), striped.loads)
        self.assertEqual(
            'cinder-rbd-ext types ensure --name '
            'rbd-stripe-unit-64k-stripe-count-8-cache-mode-writeback '
            '--property rbd:stripe_unit=64K --property rbd:stripe_count=8 '
            '--property rbd:cache_mode=writeback',
            striped.command,
        )
        self.assertEqual({'rbd:object_map': 'true'}, mapped.properties)

    def test_keys_that_all_rows_have(self) -> None:
        given = plan.parse(_STRIPED_ONLY)
        found = samples.found(
            *samples.thrice(100.0, layout='striped'),
            *samples.thrice(200.0, layout='striped', cache_mode='writeback'),
        )
        (each,) = volume_types.find(summary.tables(given, found))
        # The type is the one that was measured.
        self.assertEqual(
            {
                'rbd:stripe_unit': '64K',
                'rbd:stripe_count': '8',
                'rbd:cache_mode': 'writeback',
            },
            each.properties,
        )

    def test_cache_mode_of_all_rows(self) -> None:
        (each,) = volume_types.find(
            self.tables(
                *samples.thrice(100.0, cache_mode='writeback'),
                *samples.thrice(
                    200.0, layout='striped', cache_mode='writeback'
                ),
            )
        )
        self.assertEqual('writeback', each.properties['rbd:cache_mode'])

    def test_winner_without_keys(self) -> None:
        given = plan.parse(
            _STRIPED_ONLY.replace(
                'cache_modes: [none, writeback, unsafe]',
                'allocators: [libc, tcmalloc]',
            )
        )
        found = samples.found()
        found.samples = [
            each
            for allocator, rate in (('libc', 100.0), ('tcmalloc', 150.0))
            for each in samples.thrice(
                rate, given, run='disks', allocator=allocator
            )
        ]
        (table,) = summary.tables(given, found)
        self.assertEqual('tcmalloc', table.best.label)
        self.assertEqual([], volume_types.find([table]))
