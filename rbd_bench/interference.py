# SPDX-License-Identifier: Apache-2.0

"""Other load, which disturbs measurements."""

from rbd_bench import plan
from rbd_bench import results

#: The load by other clients that makes a measurement doubtful, as a part of
#: its rate.
_LIMIT = 0.05
_OTHERS = 'others_operations_per_second'


def find(measured: results.Results) -> str:
    """Return sentences about what disturbed the measurements."""
    texts = (_during(measured), _around(measured), _client(measured))
    return ' '.join(each for each in texts if each)


def _samples(measured: results.Results) -> list[results.Sample]:
    """Return the measurements of requests; a deletion is many requests."""
    return [
        each
        for each in measured.samples
        if each.rate > 0 and each.path != plan.DELETION
    ]


def _during(measured: results.Results) -> str:
    parts = [
        each.detail[_OTHERS] / each.rate
        for each in _samples(measured)
        if _OTHERS in each.detail
    ]
    disturbed = [each for each in parts if each > _LIMIT]
    if not disturbed:
        return ''
    return (
        f'During {len(disturbed)} of {len(parts)} measurements, clients of '
        f'other pools performed more than {_percent(_LIMIT)} of the measured '
        f'operations, up to {_percent(max(disturbed))}.'
    )


def _around(measured: results.Results) -> str:
    others = max(
        (each['operations_per_second'] for each in measured.loads), default=0.0
    )
    samples = _samples(measured)
    disturbed = [each for each in samples if others > _LIMIT * each.rate]
    if not disturbed:
        return ''
    return (
        f'Before or after the run, other clients performed up to {others:.3g} '
        f'operations per second, which is more than {_percent(_LIMIT)} of the '
        f'rate of {len(disturbed)} of {len(samples)} measurements.'
    )


def _client(measured: results.Results) -> str:
    cpus = measured.environment.get('client', {}).get('cpus') or 1
    # The load after the run is mostly that of the benchmark.
    busy = max(
        (
            each['client_load_average']
            for each in measured.loads
            if each['when'] == 'before'
        ),
        default=0.0,
    )
    if busy <= cpus / 2:
        return ''
    return (
        'Before the run, the load average of the client over one minute was '
        f'{busy:.1f} on {cpus} cores.'
    )


def _percent(part: float) -> str:
    return f'{part * 100:.0f} %'
