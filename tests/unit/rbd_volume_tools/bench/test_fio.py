# SPDX-License-Identifier: Apache-2.0

import dataclasses
import os
import pathlib
from typing import Any

import ddt
import fixtures

from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import processes
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples


def _side(ios: int, runtime: int) -> dict[str, Any]:
    return {
        'total_ios': ios,
        'runtime': runtime,
        'io_bytes': ios * 4096,
        'clat_ns': {'mean': 2e6, 'percentile': {'99.000000': 5e6}},
    }


def _report(runtime: int, reads: int, writes: int = 0) -> Any:
    job = {
        'error': 0,
        'usr_cpu': 20.0,
        'sys_cpu': 5.0,
        'read': _side(reads, runtime),
        'write': _side(writes, runtime if writes else 0),
    }
    return {'jobs': [job]}


@ddt.ddt
class FioTest(base.TestCase):
    def test_options_follow_the_workload(self) -> None:
        work = samples.cell(workload='mixed').work
        words = fio.options(work, samples.parsed().settings)
        for word in ('--rwmixread=80', '--bs=262144', '--ramp_time=0'):
            self.assertIn(word, words)
        self.assertFalse(any(word.startswith('--fsync') for word in words))

    def test_several_jobs_are_reported_as_a_group(self) -> None:
        work = dataclasses.replace(
            samples.cell(workload='small').work, pattern='read', jobs=4
        )
        words = fio.options(work, samples.parsed().settings)
        for word in ('--numjobs=4', '--thread', '--group_reporting'):
            self.assertIn(word, words)

    def test_figures_are_those_of_the_report(self) -> None:
        report = _report(2010, 220, 40)
        figures = fio.figures({**report, 'messenger_percent': 97.0})
        self.assertAlmostEqual(260 / 2.01, figures.rate)
        self.assertEqual(2.0, figures.detail['read_ms_mean'])
        self.assertEqual(5.0, figures.detail['write_ms_p99'])
        self.assertEqual(25.0, figures.detail['client_cpu_percent'])
        self.assertEqual(97.0, figures.detail['messenger_percent'])

    def test_run_without_requests_is_an_error(self) -> None:
        failed = _report(1000, 5)
        failed['jobs'][0]['error'] = 5
        for report in (failed, _report(1000, 0), _report(0, 0)):
            self.assertRaises(processes.EngineError, fio.figures, report)

    def test_report_follows_messages(self) -> None:
        self.assertEqual({'a': 1}, fio.parsed('note\n{"a": 1}\n'))

    @ddt.data('', 'error', '{"a": ')
    def test_damaged_report_is_an_error(self, text: str) -> None:
        self.assertRaises(processes.EngineError, fio.parsed, text)


class RunTest(base.TestCase):
    """Runs of a script that replaces fio."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def run_fio(self, script: str) -> dict[str, Any]:
        program = self.folder / 'fio'
        program.write_text(f'#!/bin/sh\ncd {self.folder}\n{script}\n')
        program.chmod(0o700)
        path = f'{self.folder}:{os.environ["PATH"]}'
        self.useFixture(fixtures.EnvironmentVariable('PATH', path))
        return fio.run([], os.environ, self.folder / 'out.json', 1)

    def test_output_of_fio_is_parsed(self) -> None:
        self.assertEqual(
            {'messenger_percent': 0.0}, self.run_fio("echo '{}' >out.json")
        )

    def test_crash_is_repeated(self) -> None:
        script = '[ -e again ] || { touch again; kill -SEGV $$; }'
        script += "\necho '{}' >out.json"
        self.assertEqual({'messenger_percent': 0.0}, self.run_fio(script))

    def test_failure_is_not_repeated(self) -> None:
        script = 'echo run >>runs; echo "no such pool" >&2; exit 1'
        error = self.assertRaises(processes.EngineError, self.run_fio, script)
        self.assertEqual('fio ended with 1: no such pool', str(error))
        self.assertEqual('run\n', (self.folder / 'runs').read_text())
