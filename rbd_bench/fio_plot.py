# SPDX-License-Identifier: Apache-2.0

"""Plots by fio-plot: rate and latency by queue depth and number of jobs.

fio-plot reads the JSON output of fio, a file for each measurement, and writes
PNG files. It is an optional program: its requirements include libraries that
it only needs for its own development.
"""

from collections.abc import Callable
from collections.abc import Sequence
import json
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile

from rbd_bench import fio
from rbd_bench import plan
from rbd_bench import processes
from rbd_bench import results
from rbd_bench import workload

PROGRAM = 'fio-plot'
_DPI = '80'
_SECONDS = 120


def program() -> str | None:
    """Return the path of fio-plot; None if it is not installed.

    The folder of this Python environment precedes those of PATH.
    """
    own = sysconfig.get_path('scripts')
    return shutil.which(PROGRAM, path=own) or shutil.which(PROGRAM)


def draw(
    folder: pathlib.Path,
    raw: pathlib.Path,
    run: plan.Run,
    samples: Sequence[results.Sample],
    say: Callable[[str], None] = lambda line: None,
) -> list[str]:
    """Draw the plots of a run and return their file names.

    :param folder: for the files
    :param raw: folder of fio's output
    :param run: its workloads differ only in their requests in flight
    :param samples: the measurements of the run
    :param say: shows why a plot is missing
    """
    command = program()
    if not command:
        say(
            f'{PROGRAM} is not installed. It would draw more plots of the run '
            f'{run.name}.'
        )
        return []
    works = {each.name: each for each in run.workloads}
    chosen = _outputs(raw, samples)
    if missing := [name for name in works if name not in chosen]:
        say(
            f'{PROGRAM} drew no plots of the run {run.name}: there is no '
            f'output of fio for {", ".join(missing)}.'
        )
        return []
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in chosen.items():
            _copy(path, pathlib.Path(scratch, _file_name(works[name])))
        return [
            name
            for name, options in _plots(run)
            if _run([command, '-i', scratch, *options], folder / name, say)
        ]


def _outputs(
    raw: pathlib.Path, samples: Sequence[results.Sample]
) -> dict[str, pathlib.Path]:
    """Return a file of fio's output for each workload that has one."""
    by_name: dict[str, pathlib.Path] = {}
    for each in sorted(samples, key=lambda x: x.repetition):
        path = raw / each.raw
        if not each.error and each.raw and path.exists():
            by_name.setdefault(each.values['workload'], path)
    return by_name


def _file_name(work: workload.Workload) -> str:
    return f'{work.pattern}-{work.queue_depth}-{work.jobs}.json'


def _copy(path: pathlib.Path, target: pathlib.Path) -> None:
    """Copy the last report of a measurement."""
    last = fio.documents(path.read_text())[-1]
    target.write_text(json.dumps(last))


def _plots(run: plan.Run) -> list[tuple[str, list[str]]]:
    """Return the file names, and the options of fio-plot."""
    depths = sorted({str(x.queue_depth) for x in run.workloads}, key=int)
    jobs = sorted({str(x.jobs) for x in run.workloads}, key=int)
    first = run.workloads[0]
    common = [
        *('-r', first.pattern, '-d', *depths, '--dpi', _DPI),
        *('-T', f'{first.pattern}, {first.block_size // 1024} KiB'),
    ]
    start = run.name.lower().replace(' ', '-')
    drawn = [
        (
            f'{start}-{count}-jobs-latency.png',
            ['-l', '-n', count, *common],
        )
        for count in jobs
    ]
    if len(jobs) > 1 and len(depths) > 1:
        highest = ['--maxdepth', depths[-1], '--maxjobs', jobs[-1]]
        drawn.append(
            (
                f'{start}-3d.png',
                ['-L', '-t', 'iops', '-n', *jobs, *highest, *common],
            )
        )
    return drawn


def _run(
    command: Sequence[str], path: pathlib.Path, say: Callable[[str], None]
) -> bool:
    """Draw one plot."""
    try:
        done = subprocess.run(
            [*command, '-o', path.name],
            cwd=path.parent,
            env=processes.environ(MPLBACKEND='agg'),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        problem = f'{done.stdout}{done.stderr}' if done.returncode else ''
    except subprocess.TimeoutExpired:
        problem = f'no end within {_SECONDS} seconds'
    if path.exists() and not problem:
        return True
    say(f'{PROGRAM} drew no {path.name}: {problem.strip()[-300:]}')
    return False
