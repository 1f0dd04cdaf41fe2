# SPDX-License-Identifier: Apache-2.0

"""The report of ``bench servers``, beside the statements of CERN's report."""

from collections.abc import Iterator
from collections.abc import Sequence
import pathlib

from rbd_volume_tools.bench import plots
from rbd_volume_tools.bench import report
from rbd_volume_tools.bench import results
from rbd_volume_tools.bench import servers
from rbd_volume_tools.command_line import whole_file

REPORT = 'servers.md'
FIGURES = 'servers.csv'
_COMPARED = ('Run', 'Load', 'Variant', 'Ratio', 'MB/s', 'Deviation')
#: Figures whose ratio shows how reads and writes of a program change.
_FIO_READ = ('fio_random_read', 'fio_sequential_read')
_FIO_WRITE = ('fio_random_write', 'fio_sequential_write')
_DD = ('dd_small_write', 'dd_small_read', 'dd_large_write', 'dd_large_read')


def spread(
    measured: Sequence[servers.Measurement],
    label: str,
    names: Sequence[str],
    scenario: str = 'alone',
    access: str = servers.BUFFERED,
) -> results.Spread | None:
    """Return the figures of the best disk, as CERN's report shows them."""
    disks = [
        results.Spread.of_values(
            [x for name in names for x in m.figures[name]]
        )
        for m in measured
        if (m.variant, m.scenario, m.access) == (label, scenario, access)
    ]
    return max(disks, key=lambda disk: disk.mean, default=None)


def published(
    measured: Sequence[servers.Measurement], settings: servers.Settings
) -> Iterator[report.Row]:
    """Yield each statement of the report, its ratio, and the measured one."""
    variants = settings.variants
    ceph, cached, through, striped, other = (
        variants[name].label if name in variants else ''
        for name in ('none', 'writeback', 'writethrough', 'striped', 'beside')
    )
    direct = servers.DIRECT
    together = servers.TOGETHER
    for statement, ratio, of, to in (
        ('cached reads: "similar", 6 GB/s', '1',
         (ceph, ['hdparm_cached']), (other, ['hdparm_cached'])),
        ('buffered reads: Ceph "approximately two" times', '2',
         (ceph, ['hdparm_buffered']), (other, ['hdparm_buffered'])),
        ('direct reads: Ceph "eight times"', '8',
         (ceph, ['hdparm_direct']), (other, ['hdparm_direct'])),
        ('fio: Ceph without a cache "outperforms" in reads', '> 1',
         (ceph, _FIO_READ), (other, _FIO_READ)),
        ('the same in writes', '> 1', (ceph, _FIO_WRITE), (other, _FIO_WRITE)),
        ('reads with writeback: "approximately three times"', '3',
         (cached, _FIO_READ), (other, _FIO_READ)),
        ('writes with writeback: "four times"', '4',
         (cached, _FIO_WRITE), (other, _FIO_WRITE)),
        ('reads with writeback to Ceph without a cache (no figure)', '-',
         (cached, _FIO_READ), (ceph, _FIO_READ)),
        ('writes with writeback to Ceph without a cache (no figure)', '-',
         (cached, _FIO_WRITE), (ceph, _FIO_WRITE)),
        ('writethrough: "little performance gain"', 'about 1',
         (through, _FIO_WRITE), (ceph, _FIO_WRITE)),
        ('dd: the other back end "is faster at writing"', '< 1',
         (ceph, _DD[::2]), (other, _DD[::2])),
        ('dd: Ceph "is typically faster at reading"', '> 1',
         (ceph, _DD[1::2]), (other, _DD[1::2])),
        ('direct I/O: random reads and writes "increased"', '> 1',
         (ceph, ['fio_random_read', 'fio_random_write'], 'alone', direct),
         (ceph, ['fio_random_read', 'fio_random_write'])),
        ('three disks at once, fio: Ceph "unchanged"', '1',
         (ceph, [*_FIO_READ, *_FIO_WRITE], together),
         (ceph, [*_FIO_READ, *_FIO_WRITE])),
        ('three at once, dd: Ceph "slight decrease"', '< 1',
         (ceph, _DD, together), (ceph, _DD)),
        ('three at once, fio and dd: the other back end "50%"', '0.5',
         (other, [*_FIO_READ, *_FIO_WRITE, *_DD], together),
         (other, [*_FIO_READ, *_FIO_WRITE, *_DD])),
        ('striping, sequential reads and writes (not measured)', '-',
         (striped, ['fio_sequential_read', 'fio_sequential_write']),
         (ceph, ['fio_sequential_read', 'fio_sequential_write'])),
    ):  # fmt: skip
        one, base = spread(measured, *of), spread(measured, *to)
        value = one.mean / base.mean if one and base and base.mean else None
        yield statement, ratio, report.number(value)


def rows(measured: Sequence[servers.Measurement]) -> Iterator[report.Row]:
    """Yield the figures of each disk: mean and standard deviation."""
    for m in measured:
        yield (
            *(m.variant, m.access, m.scenario, m.size),
            *(
                f'{report.number(x.mean)} ± {report.number(x.deviation)}'
                for x in (
                    results.Spread.of_values(m.figures[name])
                    for name in servers.NAMES
                )
            ),
        )


def compared(measured: Sequence[servers.Measurement]) -> Iterator[report.Row]:
    """Yield the figures of the best disk of each variant.

    The ratio is that to the first variant.
    """
    variants = list(dict.fromkeys(m.variant for m in measured))
    for access, disks in dict.fromkeys(
        (m.access, m.scenario) for m in measured
    ):
        for name in servers.NAMES:
            base = spread(measured, variants[0], [name], disks, access)
            for variant in variants:
                best = spread(measured, variant, [name], disks, access)
                if best and base:
                    ratio = best.mean / base.mean if base.mean else None
                    numbers = (ratio, best.mean, best.deviation)
                    yield (
                        *(f'{access}, {disks}', name, variant),
                        *map(report.number, numbers),
                    )


def write(
    folder: pathlib.Path,
    measured: Sequence[servers.Measurement],
    settings: servers.Settings,
) -> list[pathlib.Path]:
    """Write the report and return the paths of its files."""
    headers = ('Variant', 'Access', 'Disks', 'GiB', *servers.NAMES)
    statements = list(published(measured, settings))
    lines = ['# Disks of servers, as CERN measured them in 2013', '']
    lines += report.markdown(('Setting', 'Value'), vars(settings).items())
    lines += ['', '## Published and measured ratios', '']
    lines += report.markdown(
        ('Statement', 'Published', 'Measured'), statements
    )
    lines += ['', '## MB/s, mean and standard deviation', '']
    lines += report.markdown(headers, rows(measured))
    groups: dict[str, dict[str, results.Spread | None]] = {}
    for name in servers.NAMES:
        for m in measured:
            if m.access == servers.BUFFERED or all(
                x.access == servers.DIRECT for x in measured
            ):
                group = groups.setdefault(name, {})
                label = f'{m.variant}, {m.size} GiB, {m.scenario}'
                group[label] = results.Spread.of_values(m.figures[name])
    if groups:
        plots.save(folder / 'servers.svg', plots.bars(groups, 'MB/s'))
        lines += ['', '![servers.svg](servers.svg)']
    whole_file.write(folder / REPORT, '\n'.join([*lines, '']))
    for name, head, content in (
        (FIGURES, _COMPARED, list(compared(measured))),
        ('published.csv', ('Statement', 'Published', 'Measured'), statements),
    ):
        whole_file.write(folder / name, report.csv_text([head, *content]))
    return [folder / REPORT, folder / FIGURES, folder / 'published.csv']
