# SPDX-License-Identifier: Apache-2.0

"""The command line and the output of fio."""

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import json
import pathlib
import signal
import subprocess
import time
from typing import Any

from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes
from rbd_volume_tools.bench import threads

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
    """

    rate: float
    detail: Mapping[str, float]


def job(work: plan.Workload, settings: plan.Settings) -> dict[str, str]:
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


def options(work: plan.Workload, settings: plan.Settings) -> list[str]:
    """Return the command-line options for a workload."""
    return [
        '--name=bench',
        *(
            f'--{name}={value}' if value else f'--{name}'
            for name, value in job(work, settings).items()
        ),
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
    client: int | None = None,
) -> dict[str, Any]:
    """Run fio and return its report.

    The report also has ``messenger_percent``, see :class:`threads.Busiest`.

    :param output: the file of the report
    :param seconds: the time for which fio is configured to run
    :param client: the process that sends the requests to the cluster, if it
        is not fio
    :raises processes.EngineError: if it fails
    """
    command = ['fio', *arguments, '--output-format=json', f'--output={output}']
    messages = output.with_suffix('.log')
    for _ in range(_ATTEMPTS):
        output.unlink(missing_ok=True)
        busiest = threads.Busiest()
        with processes.running(command, env, messages) as child:
            end = time.monotonic() + seconds + _LATE
            while child.poll() is None:
                if time.monotonic() > end:
                    raise processes.EngineError(
                        f'fio did not end within {seconds + _LATE:.0f} seconds'
                    )
                busiest.read(client or child.pid)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(1.0)
        # fio 3.33 sometimes crashes when it writes its report.
        if child.returncode != -signal.SIGSEGV:
            break
    if child.returncode:
        raise processes.failure(child, messages)
    messages.unlink()
    return {
        **parsed(output.read_text()),
        'messenger_percent': busiest.percent,
    }


def parsed(text: str) -> dict[str, Any]:
    """Return the report in the output of fio, after any messages.

    :raises processes.EngineError: if there is none
    """
    try:
        report: dict[str, Any] = json.loads(text[text.index('{') :])
    except ValueError as error:
        raise processes.EngineError(f'output of fio: {error}') from None
    return report


def figures(report: Mapping[str, Any]) -> Figures:
    """Return the figures in a report.

    :raises processes.EngineError: if fio performed no request
    """
    last = report['jobs'][0]
    seconds = max(int(last[side]['runtime']) for side in _SIDES) / 1000
    done = sum(int(last[side]['total_ios']) for side in _SIDES)
    if last['error'] or not seconds or not done:
        raise processes.EngineError(
            f'fio measured nothing (error {last["error"]})'
        )
    detail = {
        'bytes_per_second': sum(last[x]['io_bytes'] for x in _SIDES) / seconds,
        'client_cpu_percent': last['usr_cpu'] + last['sys_cpu'],
        'seconds': seconds,
    }
    if 'messenger_percent' in report:
        detail['messenger_percent'] = report['messenger_percent']
    for side in _SIDES:
        if last[side]['total_ios']:
            latency = last[side]['clat_ns']
            detail[f'{side}s_per_second'] = last[side]['total_ios'] / seconds
            detail[f'{side}_ms_mean'] = latency['mean'] / _MILLI
            top = latency.get('percentile', {}).get('99.000000', 0)
            detail[f'{side}_ms_p99'] = top / _MILLI
    return Figures(done / seconds, detail)
