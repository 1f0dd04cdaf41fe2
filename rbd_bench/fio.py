# SPDX-License-Identifier: Apache-2.0

"""The command line and the output of fio."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib
import signal
import subprocess
from typing import Any

from rbd_bench import plan
from rbd_bench import processes
from rbd_bench import workload

#: Seconds by which fio may exceed its configured time.
_LATE = 120
_ATTEMPTS = 3
_SIDES = ('read', 'write')
_MILLI = 1e6


@dataclasses.dataclass(frozen=True)
class Figures:
    """The result of a run of fio.

    :ivar rate: operations per second
    :ivar detail: other figures by their names, which contain the unit
    :ivar series: operations in each second
    """

    rate: float
    detail: Mapping[str, float]
    series: tuple[float, ...]


def job(work: workload.Workload, settings: plan.Settings) -> dict[str, str]:
    """Return the options for a workload, which are the same on each path.

    An option that takes no value has an empty one.
    """
    words = {
        'rw': work.pattern,
        'bs': str(work.block_size),
        'iodepth': str(work.queue_depth),
        'numjobs': str(work.jobs),
        # Each job opens the image, and one report has the sum of all jobs.
        'thread': '',
        'group_reporting': '',
        # As in the published runs: blocks may repeat, and fio keeps no map of
        # them.
        'norandommap': '',
        'time_based': '',
        'ramp_time': str(settings.warm_up),
        'runtime': str(settings.runtime),
    }
    if work.pattern in ('rw', 'randrw'):
        words['rwmixread'] = str(work.read_percent)
    if work.flush_every:
        words['fsync'] = str(work.flush_every)
    return words


def options(work: workload.Workload, settings: plan.Settings) -> list[str]:
    """Return the command-line options for a workload."""
    return [
        '--name=bench',
        *(
            f'--{name}={value}' if value else f'--{name}'
            for name, value in job(work, settings).items()
        ),
        '--status-interval=1',
    ]


def rbd_engine(pool: str, image: str, user: str) -> list[str]:
    """Return the options of the engine that uses librbd."""
    return [
        '--ioengine=rbd',
        f'--pool={pool}',
        f'--rbdname={image}',
        f'--clientname={user}',
    ]


FILL = ['--name=fill', '--rw=write', '--bs=4M', '--iodepth=8']


def run(
    arguments: Sequence[str],
    env: Mapping[str, str],
    output: pathlib.Path,
    seconds: float,
) -> list[dict[str, Any]]:
    """Run fio and return its reports, one for each second and the last.

    :param output: the file of the reports
    :param seconds: the time for which fio is configured to run
    :raises processes.EngineError: if it fails
    """
    command = ['fio', *arguments, '--output-format=json', f'--output={output}']
    messages = output.with_suffix('.log')
    for _ in range(_ATTEMPTS):
        output.unlink(missing_ok=True)
        child = _once(command, env, messages, seconds)
        # fio 3.33 sometimes crashes when it writes its last report.
        if child.returncode != -signal.SIGSEGV:
            break
    if child.returncode:
        raise processes.failure(child, messages)
    messages.unlink()
    return documents(output.read_text())


def _once(
    command: Sequence[str],
    env: Mapping[str, str],
    messages: pathlib.Path,
    seconds: float,
) -> 'subprocess.Popen[bytes]':
    """Run fio once, wait for its end, and return the process."""
    with processes.running(command, env, messages) as child:
        try:
            child.wait(seconds + _LATE)
        except subprocess.TimeoutExpired:
            raise processes.EngineError(
                f'fio did not end within {seconds + _LATE:.0f} seconds'
            ) from None
    return child


def documents(text: str) -> list[dict[str, Any]]:
    """Return the consecutive JSON documents in a text.

    :raises processes.EngineError: if there is none
    """
    parsed, decoder, place = [], json.JSONDecoder(), text.find('{')
    while place >= 0:
        try:
            document, end = decoder.raw_decode(text, place)
        except ValueError as error:
            raise processes.EngineError(f'output of fio: {error}') from None
        parsed.append(document)
        place = text.find('{', end)
    if not parsed:
        raise processes.EngineError('fio wrote no results')
    return parsed


def figures(reports: Sequence[Mapping[str, Any]]) -> Figures:
    """Return the figures in the reports of a run.

    :raises processes.EngineError: if fio performed no request
    """
    last = reports[-1]['jobs'][0]
    seconds = _milliseconds(last) / 1000
    if last['error'] or not seconds or not _operations(last):
        raise processes.EngineError(
            f'fio measured nothing (error {last["error"]})'
        )
    detail = {
        'bytes_per_second': sum(last[x]['io_bytes'] for x in _SIDES) / seconds,
        'client_cpu_percent': last['usr_cpu'] + last['sys_cpu'],
        'seconds': seconds,
    }
    for side in _SIDES:
        if last[side]['total_ios']:
            latency = last[side]['clat_ns']
            detail[f'{side}s_per_second'] = last[side]['total_ios'] / seconds
            detail[f'{side}_ms_mean'] = latency['mean'] / _MILLI
            top = latency.get('percentile', {}).get('99.000000', 0)
            detail[f'{side}_ms_p99'] = top / _MILLI
    return Figures(_operations(last) / seconds, detail, _series(reports))


def _operations(job: Mapping[str, Any]) -> int:
    return sum(int(job[side]['total_ios']) for side in _SIDES)


def _milliseconds(job: Mapping[str, Any]) -> int:
    return max(int(job[side]['runtime']) for side in _SIDES)


def _series(reports: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """Return operations per second between two reports.

    fio resets its counters after the warm-up, but not the elapsed time.
    """
    jobs = [each['jobs'][0] for each in reports]
    last = jobs[-1]
    counted = [
        job
        for job in jobs
        if (last['elapsed'] - job['elapsed'])
        - (_milliseconds(last) - _milliseconds(job)) / 1000
        < 0.9
    ]
    rates = []
    before, when = 0, 0
    for job in counted:
        now = _milliseconds(job)
        # The last report repeats the one before.
        if now - when >= 500:
            done = _operations(job)
            rates.append((done - before) / (now - when) * 1000)
            before, when = done, now
    return tuple(rates)
