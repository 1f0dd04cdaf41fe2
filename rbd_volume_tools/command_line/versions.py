# SPDX-License-Identifier: Apache-2.0

"""Versions of librbd, QEMU and libvirt."""

from collections.abc import Callable
from collections.abc import Iterator
import re

from rbd_volume_options import keys
from rbd_volume_options.families import discard
from rbd_volume_tools.command_line import findings

#: The first release of Ceph with the new I/O path of librbd.
OLDEST_CEPH = 16
_CEPH = re.compile(r'ceph version ((\d+)(?:\.\d+)+)\S*')
_NUMBER = re.compile(r'\d+\.\d+(?:\.\d+)*')
#: Names of the QEMU program in distributions.
QEMU = (
    'qemu-system-x86_64',
    'qemu-system-aarch64',
    'qemu-kvm',
    '/usr/libexec/qemu-kvm',
)
LIBVIRT = ('libvirtd', 'virtqemud')

Finding = findings.Finding
Severity = findings.Severity
#: Runs a command; returns its status, output and errors.
Run = Callable[[list[str]], tuple[int, str, str]]


def check_librbd(run: Run) -> Finding:
    """Check the release of Ceph's libraries with the program ``rbd``.

    The libraries themselves only report the version of their interface.
    """
    shown = _shown(run, 'rbd')
    version = _CEPH.search(shown)
    if not version:
        return findings.notice(
            'librbd',
            'unknown: the program rbd is missing or failed',
            'Install ceph-common, which is of the same release as librbd.',
        )
    if int(version[2]) < OLDEST_CEPH:
        return findings.warning(
            'librbd',
            version[0],
            f"Update Ceph's client packages to {OLDEST_CEPH} or later. Ceph "
            'measured 126,000 random reads a second with it, and 80,000 with '
            'an older librbd.',
        )
    known = ''
    if _can_crash(_numbers(version[1])):
        # A retype copies with it, in a child process.
        known = (
            '; rbd deep cp can crash (https://tracker.ceph.com/issues/77551)'
        )
    return Finding('librbd', version[0] + known)


def _can_crash(version: list[int]) -> bool:
    """Return whether a release lacks the correction of 77551.

    Backports to 19 exist; none are known for 16 to 18.
    """
    return version[0] <= 18 or [20] <= version < [20, 2, 3]


def check_host(run: Run) -> Iterator[Finding]:
    """Check the programs of a compute host."""
    for subject, programs in (('QEMU', QEMU), ('libvirt', LIBVIRT)):
        shown = (_shown(run, program) for program in programs)
        text = next((each for each in shown if each), '')
        number = _NUMBER.search(text)
        if number and programs is LIBVIRT:
            yield _check_libvirt(number[0])
        elif number:
            yield Finding(subject, number[0])
        else:
            yield findings.notice(
                subject,
                f'none of {", ".join(programs)} was found',
                'Run the command where nova-compute starts its servers, such '
                'as in the container of libvirt.',
            )


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split('.')]


def _check_libvirt(version: str) -> Finding:
    oldest = discard.OLDEST_LIBVIRT
    if _numbers(version) < _numbers(oldest):
        version += f'; {keys.DISCARD_GRANULARITY} requires {oldest} or later'
    return Finding('libvirt', version)


def _shown(run: Run, program: str) -> str:
    try:
        status, out, _ = run([program, '--version'])
    except OSError:
        return ''
    return out.strip() if status == 0 else ''
