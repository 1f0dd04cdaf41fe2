# SPDX-License-Identifier: Apache-2.0

"""A sample plan and sample results."""

from typing import Any

from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import results

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
    sizes: [1024G]
published:
  - name: cache
    statement: twice as fast
    ratio: 2
    run: disks
    of: {cache_mode: writeback, workload: small}
    to: {cache_mode: none, workload: small}
  - name: striping
    statement: faster
    ratio: null
    run: disks
    of: {layout: striped, workload: small}
    to: {layout: stock, workload: small}
  - name: map
    statement: faster
    ratio: 60
    run: deletion
    of: {features: with}
    to: {features: without}
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
    return from_text(PLAN)


def from_text(text: str, **kwargs: Any) -> plan.Plan:
    """Return the plan in a text."""
    return plan.parse(plan.from_yaml(text), **kwargs)


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
    detail = {} if error else {'bytes_per_second': 1e6, 'write_ms_p99': 2.0}
    return results.Sample(of.ident, repetition, rate, detail, error)


def thrice(rate: float, **values: str) -> list[results.Sample]:
    """Return three measurements with about the same rate."""
    return [sample(rate + place, place, **values) for place in range(3)]


def measured(*samples: results.Sample) -> results.Results:
    """Return results with the given measurements."""
    return results.Results(
        parsed().document,
        'cluster',
        'volumes',
        environment=dict(ENVIRONMENT),
        loads=[{'when': 'before', 'client_load_average': 0.1}],
        samples=list(samples),
    )
