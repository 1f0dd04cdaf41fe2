# SPDX-License-Identifier: Apache-2.0

import base64
import contextlib
import dataclasses
import gzip
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import servers
from rbd_volume_tools.bench.guest import job
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.bench import samples
from tests.unit.rbd_volume_tools.bench.guest import fake_cloud

_SETTINGS = dataclasses.replace(
    samples.parsed().settings, runtime=1201, image_size=2**22
)
_WORK = samples.cell(workload='mixed').work
#: A program in place of fio: it shows its arguments and writes a report.
_FIO = """#!/bin/sh
[ "$1" = --version ] && { echo fio-3.33; exit; }
for word; do
    case $word in
        --output=*) echo '{"arguments": "'"$*"'"}' >"${word#*=}" ;;
    esac
done
"""


#: A report of fio's four jobs.
_GROUP = {'jobs': [{x: {'bw_bytes': 7e6} for x in ('read', 'write')}]}
#: A report of fio.
_REPORT = json.dumps(fake_cloud.REPORT)


@ddt.ddt
class JobTest(untrusted.TestCase):
    @hypothesis.given(
        strategies.lists(
            strategies.sampled_from(
                (
                    *(f'cache=\n{_REPORT}\n', '{}', '}{', '{', '}', _REPORT),
                    *('{"jobs": []}', '{"jobs": [{"error": 0}]}', '[]'),
                )
            )
            | untrusted.TEXTS,
            max_size=4,
        ).map(''.join)
    )
    def test_any_results_of_a_guest_are_read_or_refused(
        self, text: str
    ) -> None:
        packed = gzip.compress(text.encode(errors='replace'))
        start = 'cinder-rbd-ext-bench: 1'
        encoded = base64.b64encode(packed).decode()
        console = f'{start} = {encoded}\n{start} end\n'
        with contextlib.suppress(processes.EngineError):
            job.answer(console, 1)

    @hypothesis.given(
        untrusted.damaged(fake_cloud.results(1).encode()) | untrusted.BYTES
    )
    def test_damaged_console_is_refused(self, content: bytes) -> None:
        console = content.decode(errors='replace')
        with contextlib.suppress(processes.EngineError):
            job.is_ready(console)
            job.answer(console, 1)

    def test_long_console_is_read_quickly(self) -> None:
        def read(text: str) -> None:
            for console in (text, f'cinder-rbd-ext-bench: 1 failed {text}'):
                with contextlib.suppress(processes.EngineError):
                    job.is_ready(console)
                    job.answer(console, 1)

        self.assertQuick(read)

    def test_job_fits_into_its_sectors(self) -> None:
        encoded = job.encode(17, _WORK, _SETTINGS)
        self.assertEqual(job.BYTES, len(encoded))
        lines = encoded.rstrip(b'\0').decode().splitlines()
        self.assertEqual('cinder-rbd-ext-bench 17', lines[0])
        self.assertEqual('end', lines[-1])
        for line in (
            *('rw=randrw', 'bs=262144', 'rwmixread=80', 'time_based='),
            *('offset=1048576', 'size=4194304'),
        ):
            self.assertIn(line, lines)

    def test_answer_is_found_among_console_output(self) -> None:
        console = fake_cloud.results(3) + fake_cloud.results(4)
        answer = job.answer(console, 4)
        if answer is None:
            self.fail('no answer')
        self.assertEqual(100.0, answer.figures.rate)
        self.assertEqual(5.0, answer.figures.detail['read_ms_p99'])
        self.assertEqual('write back', answer.facts['cache'])
        self.assertIsNone(job.answer(console, 5))
        self.assertIsNone(job.answer(console[:-20], 4))

    @ddt.data(
        'cinder-rbd-ext-bench: 4 failed fio: no space\r\n',
        fake_cloud.results(4)[300:],
        fake_cloud.results(4).replace('H4sI', 'H4s=', 1),
    )
    def test_failure_of_the_job_is_an_error(self, console: str) -> None:
        self.assertRaises(processes.EngineError, job.answer, console, 4)

    def test_guest_is_ready_after_its_last_message(self) -> None:
        failed = 'cinder-rbd-ext-bench: failed fio is not installed\r\n'
        ready = 'cinder-rbd-ext-bench: ready\r\n'
        self.assertFalse(job.is_ready('login:'))
        self.assertTrue(job.is_ready(failed + ready))
        self.assertRaises(processes.EngineError, job.is_ready, failed)


class ProgramTest(base.TestCase):
    """The shell script, with a directory in place of the root."""

    def setUp(self) -> None:
        super().setUp()
        # Direct I/O needs a file system on a disk.
        folder = tempfile.mkdtemp(dir='/var/tmp')
        self.addCleanup(shutil.rmtree, folder)
        self.root = pathlib.Path(folder)
        for name in ('dev', 'sys/block/vdb/queue', 'bin'):
            (self.root / name).mkdir(parents=True)
        self.console = self.root / 'dev/console'
        self.console.touch()
        cache = self.root / 'sys/block/vdb/queue/write_cache'
        cache.write_text('write back\n')
        self.put(job.encode(7, _WORK, _SETTINGS))
        for name in ('fio', 'hdparm', 'mkfs.ext4'):
            fio = self.root / 'bin' / name
            fio.write_text(_FIO)
            fio.chmod(0o755)

    def put(self, data: bytes) -> None:
        (self.root / 'dev/vdb').write_bytes(data)

    def run_until(self, text: str) -> str:
        """Run the script until a text is on its console; return the lines."""
        script = self.root / 'measure'
        script.write_bytes(job.program())
        with subprocess.Popen(
            ['sh', str(script), str(self.root)],
            env={'PATH': f'{self.root}/bin:/usr/bin:/bin', 'TMPDIR': '/tmp'},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as child:
            try:
                limit = time.monotonic() + 20
                while text not in self.console.read_text():
                    self.assertLess(time.monotonic(), limit)
                    time.sleep(0.05)
            finally:
                child.kill()
        return self.console.read_text()

    def test_arguments_and_results(self) -> None:
        console = self.run_until('7 end')
        self.assertTrue(job.is_ready(console))
        text = job.unpacked(console, 7)
        arguments = text[text.index('{') :]
        for word in (
            *('--direct=1', '--ioengine=libaio', '--rw=randrw'),
            *('--time_based ', '--size=4194304'),
            f'--filename={self.root}/dev/vdb',
        ):
            self.assertIn(word, arguments)
        self.assertTrue(text.startswith('cache=write back\n'))

    def program(self, name: str, text: str) -> None:
        program = self.root / 'bin' / name
        program.write_text(f'#!/bin/sh\n{text}\n')
        program.chmod(0o755)

    def test_disk_of_a_server_is_formatted_and_measured(self) -> None:
        """The control disk is vdb; the job names the serial of vdc."""
        (self.root / 'sys/block/vdc').mkdir()
        (self.root / 'sys/block/vdc/serial').write_text('0123-4567\n')
        (self.root / 'proc/sys/vm').mkdir(parents=True)
        calls = self.root / 'calls'
        for name in ('mkfs.ext4', 'mount', 'umount'):
            self.program(name, f'echo {name} "$@" >>{calls}')
        self.program('hdparm', "echo ' Timing: 9 MB in 3 s = 12.5 MB/sec'")
        self.program(
            'fio',
            f'for word; do case $word in --output=*) '
            f"echo '{json.dumps(_GROUP)}' >${{word#*=}};; esac; done",
        )
        options = {
            *('serial', 'format', 'start', 'direct', 'repetitions'),
            *('runtime', 'processes', 'dd_small', 'dd_large'),
        }
        values = {**dict.fromkeys(options, '1'), 'direct': '0'}
        content = {'serial': '0123-4567', **values, 'file_size': '1m'}
        self.put(job.packed(8, {**content, 'serial': '0123-4567'}))
        text = job.finished(self.run_until('8 end'), 8)
        figures = servers.figures(text or '')
        self.assertEqual([12.5], figures['hdparm_cached'])
        self.assertEqual([7.0], figures['fio_random_read'])
        made, mounted, unmounted = calls.read_text().splitlines()
        self.assertTrue(made.endswith('/dev/vdc'))
        self.assertIn('/dev/vdc', mounted)
        self.assertIn('umount', unmounted)

    def test_unknown_disk_is_a_failed_job(self) -> None:
        self.program('sleep', '/bin/sleep 0.01')
        self.put(job.packed(8, {'serial': 'none', 'format': '1'}))
        console = self.run_until('8 failed')
        self.assertIn('no disk has the serial number none', console)

    def test_option_that_is_not_known(self) -> None:
        sector = job.encode(7, _WORK, _SETTINGS)
        self.put(sector.replace(b'rw=randrw', b'exec_prerun=reboot'))
        self.assertNotIn('7 end', self.run_until('7 failed the job'))

    def test_value_that_is_not_plain(self) -> None:
        sector = job.encode(7, _WORK, _SETTINGS)
        self.put(sector.replace(b'rw=randrw', b'rw=$(reboot)'))
        self.assertNotIn('7 end', self.run_until('7 failed the job'))
