#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Checks the running parts through the APIs of the cloud."""

from collections.abc import Iterator
from typing import Any

from rbd_command_line import findings
from rbd_volume_options import keys
from rbd_volume_options import wire

_BACKEND_NAME = 'volume_backend_name'

Finding = findings.Finding
Severity = findings.Severity


def check(cinder: Any) -> Iterator[Finding]:
    """Check Cinder's running services, as an administrator.

    :param cinder: the block storage API of openstacksdk
    """
    aliases = {
        each['alias'] for each in _get(cinder, '/extensions')['extensions']
    }
    if wire.ALIAS in aliases:
        yield Finding('running API extension', wire.ALIAS)
    else:
        yield Finding(
            'running API extension',
            f'{wire.ALIAS} is not among the extensions of cinder-api',
            Severity.WARNING,
            'Set osapi_volume_extension and restart cinder-api.',
        )
    pools = _get(cinder, '/scheduler-stats/get_pools?detail=True')['pools']
    for pool in pools:
        report = pool['capabilities']
        if report.get('storage_protocol') != 'ceph':
            continue
        ours = report.get(wire.RBD_VOLUME_OPTIONS) is True
        yield Finding(
            f'running back end {pool["name"]}',
            'our driver' if ours else 'another RBD driver',
            None if ours else Severity.WARNING,
            '' if ours else 'Set volume_driver and restart cinder-volume.',
        )


def data_pools(cinder: Any) -> dict[str, set[str]]:
    """Return the data pools of volume types, by the names of back ends."""
    found: dict[str, set[str]] = {}
    for each in _get(cinder, '/types?is_public=None')['volume_types']:
        specs = each.get('extra_specs') or {}
        pool, backend = specs.get(keys.DATA_POOL), specs.get(_BACKEND_NAME)
        if pool and backend:
            found.setdefault(backend, set()).add(pool)
    return found


def _get(cinder: Any, path: str) -> dict[str, Any]:
    response = cinder.get(path)
    response.raise_for_status()
    body: dict[str, Any] = response.json()
    return body
