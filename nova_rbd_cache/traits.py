# SPDX-License-Identifier: Apache-2.0

"""Traits of compute nodes in Placement, one for each allowed cache mode.

nova-compute reports them, and the filter of nova-scheduler reads them.
"""

from typing import Any
from urllib import parse

from nova.scheduler.client import report

from rbd_volume_options import cache_modes

# The first version that finds resource providers by their traits.
_VERSION = '1.18'


def of_mode(mode: cache_modes.CacheMode) -> str:
    """Return the trait of a compute node that allows a cache mode."""
    return f'CUSTOM_RBD_CACHE_{mode.name}'


def nodes_with(context: Any, mode: cache_modes.CacheMode) -> frozenset[str]:
    """Return the UUIDs of the compute nodes that allow a cache mode.

    :raises ValueError: if Placement does not answer as expected
    """
    name = of_mode(mode)
    known = _get(context, '/traits', name=f'in:{name}')
    if name not in known['traits']:
        # No host has reported it yet. A query for it is an error.
        return frozenset()
    providers = _get(context, '/resource_providers', required=name)
    return frozenset(each['uuid'] for each in providers['resource_providers'])


def _get(context: Any, path: str, **parameters: str) -> Any:
    placement = report.report_client_singleton()
    url = f'{path}?{parse.urlencode(parameters)}'
    answer = placement.get(
        url, version=_VERSION, global_request_id=context.global_id
    )
    if answer.status_code != 200:
        raise ValueError(f'GET {url}: {answer.status_code} {answer.text}')
    return answer.json()
