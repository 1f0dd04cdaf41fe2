# SPDX-License-Identifier: Apache-2.0

import contextlib
import dataclasses
import json
import time
from typing import Any
from unittest import mock

from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.paths import guest
from tests.unit.rbd_volume_tools.bench import samples
from tests.unit.rbd_volume_tools.bench.guest import fake_cloud
from tests.unit.rbd_volume_tools.bench.paths import base


class GuestTest(base.PathTestCase):
    mocks_figures = False

    def setUp(self) -> None:
        super().setUp()
        self.replace(time, 'sleep')
        self.fake = fake_cloud.Cloud(self.cluster)
        self.place = self.connected('fsid/volumes')
        cells = matrix.cells(samples.from_text(samples.GUEST_PLAN))
        self.cells = [x for x in cells if x.values.get('layout') == 'striped']
        self.facts: dict[str, object] = {}

    def connected(self, pool: str) -> cloud.Cloud:
        return cloud.Cloud(self.fake, cloud.Wanted('fio', 'small'), pool)

    def opened(self) -> contextlib.AbstractContextManager[guest.Guest]:
        return guest.opened(self.around, self.place, self.facts)

    def check_nothing_is_left(self) -> None:
        self.assertEqual({}, self.fake.servers)
        self.assertEqual({}, self.fake.volumes)
        self.assertEqual([], self.cluster.names())

    def test_figures_and_facts(self) -> None:
        with self.opened() as path:
            with path.prepared(self.cells[0]) as measure:
                (volume,) = self.fake.volumes.values()
                self.assertEqual('64K', volume['metadata']['rbd:stripe_unit'])
                fill = self.fio.call_args[0][0]
                self.assertIn(f'--rbdname=volume-{volume["id"]}', fill)
                self.assertIn('--offset=1048576', fill)
                for cell in self.cells[:3]:
                    figures = measure(cell, self.raw())
                    self.assertEqual(100.0, figures.rate)
                    self.assertEqual('available', volume['status'])
            self.assertEqual({}, self.fake.volumes)
            self.assertEqual(1, len(self.fake.servers))
        self.check_nothing_is_left()
        modes = [each.values['cache_mode'] for each in self.cells[:3]]
        self.assertEqual(modes, self.fake.modes)
        self.assertEqual('small', self.facts['flavor'])
        self.assertEqual('verified', self.facts['cache_mode'])
        self.assertEqual({'none': 'write back', 'writeback': 'write back'},
                         self.facts['disk_cache'])  # fmt: skip
        self.assertIn('jobs', json.loads(self.raw().read_text()))

    def test_interrupted_measurement_keeps_volume_attached_until_the_end(
        self,
    ) -> None:
        self.fake.answer = self.interrupt
        with self.opened() as path, path.prepared(self.cells[0]) as measure:
            self.assertRaises(
                KeyboardInterrupt, measure, self.cells[0], self.raw()
            )
            # As if the exception had ended the context.
            (volume,) = self.fake.volumes.values()
            self.assertEqual('in-use', volume['status'])
        self.check_nothing_is_left()

    def interrupt(self, number: int) -> str:
        raise KeyboardInterrupt

    def test_failed_job(self) -> None:
        self.fake.answer = 'cinder-rbd-ext-bench: {} failed fio: x\n'.format
        with self.opened() as path, path.prepared(self.cells[0]) as measure:
            for _ in range(2):
                error = self.assertRaises(
                    processes.EngineError,
                    *(measure, self.cells[0], self.raw()),
                )
                self.assertIn('fio: x', str(error))
            # The volume was detached; the server remains.
            self.assertEqual(['s1'], list(self.fake.servers))
        self.check_nothing_is_left()

    def test_volume_that_is_not_detached(self) -> None:
        detach = 'DELETE /servers/s1/os-volume_attachments'
        with self.opened() as path, path.prepared(self.cells[0]) as measure:
            self.fake.compute.faults[detach] = 409
            self.assertRaises(
                processes.EngineError, measure, self.cells[0], self.raw()
            )
            # The next measurement has another server.
            figures = measure(self.cells[0], self.raw())
            self.assertEqual(100.0, figures.rate)
            self.assertEqual(['s3'], list(self.fake.servers))
        self.check_nothing_is_left()

    def test_other_cache_mode(self) -> None:
        for recorded, text in (
            ('writethrough', 'writethrough instead of none'),
            (None, 'host chose the cache mode instead'),
        ):
            self.fake.recorded = recorded
            with (
                self.opened() as path,
                path.prepared(self.cells[0]) as measure,
            ):
                error = self.assertRaises(
                    processes.EngineError, measure, self.cells[0], self.raw()
                )
            self.assertIn(text, str(error))

    def test_stock_back_end(self) -> None:
        self.fake.is_stock = True
        with self.opened() as path:
            context = path.prepared(self.cells[0])
            error = self.assertRaises(processes.EngineError, context.__enter__)
            self.assertIn('stripe_unit is 4194304 instead', str(error))
            # The default layout can be measured.
            plain = dataclasses.replace(
                self.cells[0],
                values={**self.cells[0].values, 'layout': 'stock'},
            )
            with path.prepared(plain) as measure:
                for _ in range(2):
                    measure(plain, self.raw())
        self.assertEqual('not verified', self.facts['cache_mode'])
        (line,) = self.said
        self.assertIn('cache modes are not verified', line)

    def test_data_pool_of_the_volume_type(self) -> None:
        other = self.cluster.add_pool('volumes-data').number
        create = self.place.create_volume

        def elsewhere(*args: Any) -> str:
            ident = create(*args)
            self.cluster.stored(f'volume-{ident}').data_pool = other
            return ident

        self.replace(self.place, 'create_volume', side_effect=elsewhere)
        with self.opened() as path, path.prepared(self.cells[0]):
            self.free.assert_called_with(mock.ANY, 'volumes-data')

    def test_server_that_fails_is_created_once(self) -> None:
        self.fake.ready = 'cinder-rbd-ext-bench: failed fio is missing\n'
        with self.opened() as path:
            for _ in range(2):
                context = path.prepared(self.cells[0])
                error = self.assertRaises(
                    processes.EngineError, context.__enter__
                )
                self.assertIn('fio is missing', str(error))
            self.assertEqual(1, len(self.fake.servers))
        self.check_nothing_is_left()

    def test_volume_in_another_pool(self) -> None:
        with self.opened() as path:
            create = self.place.create_volume

            def elsewhere(*args: Any) -> str:
                ident = create(*args)
                pool = self.cluster.pools['volumes'].images
                del pool[f'volume-{ident}']
                return ident

            self.replace(self.place, 'create_volume', side_effect=elsewhere)
            context = path.prepared(self.cells[0])
            error = self.assertRaises(processes.EngineError, context.__enter__)
        self.assertIn('--volume-type', str(error))

    def test_leftovers_of_killed_runs(self) -> None:
        dead = f'{images.PREFIX}dead'
        (self.folder / images.JOURNAL).write_text(f'{dead}\n')
        self.place.check()
        others = self.place.boot(f'{images.PREFIX}others', b'')['id']
        elsewhere = self.connected('fsid/other')
        elsewhere.check()
        kept = [others, elsewhere.boot(dead, b'')['id']]
        with self.around.own_images.created(2**20, 0, {}) as alive:
            kept.append(self.place.boot(alive, b'')['id'])
            self.place.boot(dead, b'')
            self.place.create_volume(dead, 1, {})
            with self.opened():
                pass
        self.assertEqual(kept, list(self.fake.servers))
        self.assertEqual({}, self.fake.volumes)
        (line,) = self.said
        self.assertIn(f'Removing the servers and the volumes {dead}', line)

    def test_what_cannot_be_removed(self) -> None:
        with self.opened() as path:
            with path.prepared(self.cells[0]):
                pass
            self.fake.compute.faults['DELETE /servers'] = 500
        self.assertIn('The next run', self.said[-1])
