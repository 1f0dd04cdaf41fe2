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


"""Unit tests of cinder_rbd_ext.bench.results."""

import dataclasses
import json
import pathlib

import fixtures

from cinder_rbd_ext.bench import results
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.cinder_rbd_ext.bench import samples


class ResultsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.found = samples.found(
            samples.sample(2.0), samples.sample(0, 1, 'failed')
        )

    def test_round_trip(self) -> None:
        results.save(self.folder, self.found)
        self.assertEqual(self.found, results.load(self.folder))

    def test_failed_measurements_are_repeated(self) -> None:
        cell = samples.cell().ident
        self.assertEqual({(cell, 0)}, self.found.done())
        self.found.add(samples.sample(3.0, 1))
        self.assertEqual({(cell, 0), (cell, 1)}, self.found.done())
        self.assertEqual({cell: [2.0, 3.0]}, self.found.rates())

    def test_resumed(self) -> None:
        settings = self.found.settings
        new = results.resumed(self.folder, 'mine', settings)
        self.assertEqual([], new.samples)
        results.save(self.folder, self.found)
        self.assertEqual(
            self.found, results.resumed(self.folder, 'mine', settings)
        )
        other = dataclasses.replace(settings, runtime=2)
        for name, given in (('mine', other), ('other', settings)):
            error = self.assertRaises(
                errors.OptionError,
                results.resumed,
                self.folder,
                name,
                given,
            )
            self.assertIn('contains results of mine with', str(error))

    def test_unreadable(self) -> None:
        for text in ('', '[', json.dumps({'format': 99})):
            (self.folder / results.FILE).write_text(text)
            self.assertRaises(errors.OptionError, results.load, self.folder)
        self.assertRaises(errors.OptionError, results.load, self.folder / 'no')

    def test_interrupted_writing(self) -> None:
        results.save(self.folder, self.found)
        self.found.environment['odd'] = object()
        self.assertRaises(TypeError, results.save, self.folder, self.found)
        self.assertEqual(2, len(results.load(self.folder).samples))
