# SPDX-License-Identifier: Apache-2.0

"""A sample plan and sample results."""

import dataclasses
from typing import Any

from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import results

PLAN = """
name: mine
title: A plan
source: nowhere
settings: {warm_up: 0, runtime: 1, repetitions: 2, image_size: 1G}
short: {repetitions: 1}
runs:
  - name: disks
    path: qemu
    layouts:
      stock: {}
      striped: {'rbd:stripe_unit': 64K, 'rbd:stripe_count': 8}
    cache_modes: [none, writeback, unsafe]
    workloads:
      - {name: small, pattern: write, block_size: 4K, queue_depth: 16}
      - {name: mixed, pattern: randrw, block_size: 256K, read_percent: 80}
  - name: deletion
    path: deletion
    features:
      without: {'rbd:object_map': 'false'}
      with: {'rbd:object_map': 'true'}
    sizes: [1T]
published:
  - name: cache
    statement: twice as fast
    ratio: 2
    run: disks
    of: {cache_mode: writeback, workload: small}
    to: {cache_mode: none, workload: small}
    explain: [cache-policy, flush, rate, same-host]
  - name: striping
    statement: faster
    run: disks
    of: {layout: striped, workload: small}
    to: {layout: stock, workload: small}
    explain: [osds]
  - name: map
    statement: faster
    ratio: 60
    run: deletion
    of: {features: with}
    to: {features: without}
    explain: [objects]
"""
#: The run of the plan in a guest.
GUEST_PLAN = PLAN.replace('path: qemu', 'path: guest')
ENVIRONMENT = {
    'osds': 3,
    'client_is_osd_host': True,
    'client': {'cpus': 2},
    'options': {
        'rbd_cache_policy': 'writearound',
        'rbd_cache_writethrough_until_flush': 'true',
    },
}


def parsed() -> plan.Plan:
    """Return the parsed plan."""
    return plan.parse(PLAN)


def cell(of: plan.Plan | None = None, **values: str) -> matrix.Cell:
    """Return the first combination with the given values.

    :param of: a plan other than the sample plan
    """
    return next(
        each
        for each in matrix.cells(of or parsed())
        if values.items() <= {**each.values, 'run': each.run.name}.items()
    )


def sample(
    rate: float, repetition: int = 0, error: str = '', **values: Any
) -> results.Sample:
    """Return a measurement of the first combination with the given values."""
    of = cell(**values)
    return results.Sample(
        of.run.name,
        of.run.path,
        of.ident,
        dict(of.values),
        repetition,
        rate,
        error=error,
    )


def thrice(
    rate: float, of: plan.Plan | None = None, **values: str
) -> list[results.Sample]:
    """Return three measurements with about the same rate."""
    each = cell(of, **values)
    return [
        results.Sample(
            each.run.name,
            each.run.path,
            each.ident,
            dict(each.values),
            place,
            rate + place,
        )
        for place in range(3)
    ]


def changed(former: results.Sample, **values: Any) -> results.Sample:
    """Return a measurement with other values of its fields."""
    return dataclasses.replace(former, **values)


def found(*samples: results.Sample) -> results.Results:
    """Return results with the given measurements."""
    return results.Results(
        'mine',
        parsed().settings,
        parsed(),
        'cluster',
        'volumes',
        environment=dict(ENVIRONMENT),
        loads=[
            {
                'when': 'before',
                'time': 'now',
                'operations_per_second': 0.0,
                'bytes_per_second': 0.0,
                'client_load_average': 0.1,
            }
        ],
        samples=list(samples),
    )
