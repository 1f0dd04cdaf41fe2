# SPDX-License-Identifier: Apache-2.0

"""Jobs for a guest, and its results.

The first bytes of a disk contain a job, padded with zeros::

    cinder-rbd-ext-bench 17
    rw=randread
    bs=16384
    end

The guest passes the lines as options to fio and writes to its serial console::

    cinder-rbd-ext-bench: 17 begin
    cinder-rbd-ext-bench: 17 = H4sIAAAAAAACA5VUTW/bMAy951cIOccB
    cinder-rbd-ext-bench: 17 end

The second words are Base64 of a compressed text: facts, the report of fio and
its log of operations per second. ``measure.sh`` is the program in the guest.
"""

import base64
import binascii
from collections.abc import Mapping
import dataclasses
import gzip
import importlib.resources
import re
import zlib

from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import processes

_MAGIC = 'cinder-rbd-ext-bench'
#: Bytes at the beginning of a disk that contain a job. The guest reads them
#: at once.
BYTES = 4096
#: Bytes before the data that fio reads and writes.
OFFSET = 2**20


@dataclasses.dataclass(frozen=True)
class Answer:
    """The results of a job.

    :ivar facts: what the guest found: ``cache`` of the disk, ``kernel``,
        ``fio``
    :ivar report: the report of fio, as JSON
    """

    facts: Mapping[str, str]
    report: str
    figures: fio.Figures


def program() -> bytes:
    """Return the shell script that runs in the guest."""
    return (
        importlib.resources.files(__package__)
        .joinpath('measure.sh')
        .read_bytes()
    )


def encode(number: int, work: plan.Workload, settings: plan.Settings) -> bytes:
    """Return the first bytes of a disk for a job.

    :param number: identifies the job
    """
    options = {
        **fio.job(work, settings),
        'offset': str(OFFSET),
        'size': str(settings.image_size),
    }
    return packed(number, options)


def packed(number: int, options: Mapping[str, str]) -> bytes:
    """Return the first bytes of a disk for a job with options."""
    lines = [f'{_MAGIC} {number}']
    lines += [f'{name}={value}' for name, value in options.items()]
    return '\n'.join([*lines, 'end', '']).encode().ljust(BYTES, b'\0')


def is_ready(console: str) -> bool:
    """Return whether the guest waits for jobs.

    :raises processes.EngineError: if it cannot run them
    """
    messages = re.findall(rf'^{_MAGIC}: (ready|failed .*?)\r?$', console, re.M)
    if messages and messages[-1] != 'ready':
        raise processes.EngineError(f'guest: {messages[-1]}')
    return bool(messages)


def answer(console: str, number: int) -> Answer | None:
    """Return the results of fio; None if the guest has not written them.

    :raises processes.EngineError: if the job failed, or the results are
        damaged
    """
    text = finished(console, number)
    if text is None:
        return None
    try:
        return _parse(text)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise processes.EngineError(
            f'the results of the guest cannot be read: {error!r}'
        ) from error


def finished(console: str, number: int) -> str | None:
    """Return the text of a job's results; None if there are none yet.

    :raises processes.EngineError: if the job failed, or the results are
        damaged
    """
    start = rf'^{_MAGIC}: {number}'
    if failed := re.search(rf'{start} failed (.*?)\r?$', console, re.M):
        raise processes.EngineError(f'guest: {failed[1]}')
    if not re.search(rf'{start} end\r?$', console, re.M):
        return None
    return unpacked(console, number)


def unpacked(console: str, number: int) -> str:
    """Return the text of the results of a job.

    :raises processes.EngineError: if it is damaged
    """
    lines = re.findall(rf'^{_MAGIC}: {number} = (\S+)\r?$', console, re.M)
    try:
        text = gzip.decompress(base64.b64decode(''.join(lines))).decode()
        # The report of fio.
        text.index('{')
    except (binascii.Error, EOFError, OSError, ValueError, zlib.error):
        raise processes.EngineError(
            'the results of the guest are damaged on its console'
        ) from None
    return text


def _parse(text: str) -> Answer:
    start = text.index('{')
    pairs = (line.partition('=') for line in text[:start].splitlines())
    report = text[start:]
    figures = fio.figures(fio.parsed(report))
    return Answer({x: value for x, _, value in pairs}, report, figures)
