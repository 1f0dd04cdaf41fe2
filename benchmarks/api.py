# SPDX-License-Identifier: Apache-2.0

"""Measure Cinder's API: create, attach, detach, clone and delete volumes.

    OS_CLOUD=admin python3 benchmarks/api.py --types stock rbd --volumes 100

The benchmark measures the volume types in a random order, on the same cloud.
Clones are volumes from one snapshot. The last column is the median of the
first type divided by that of the type: above 1, the type is faster than the
first one.

The benchmark needs openstacksdk, and the project
needs quota for the volumes.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from concurrent import futures
import json
import random
import statistics
import sys
import time
from typing import Any

import openstack

#: Includes the API of attachments, which needs 3.27 or later.
_MICROVERSION = '3.54'
_CONNECTOR = {
    'host': 'bench',
    'ip': '192.0.2.1',
    'initiator': 'iqn.2026-01.org.example:bench',
}
_NAME = 'api-benchmark'
STEPS = ('create', 'attach', 'detach', 'clone', 'delete')


class Api:
    """Sends the requests of the benchmark.

    :param at_once: the number of requests in flight
    :param patience: seconds after which a step fails
    """

    def __init__(self, at_once: int, patience: float) -> None:
        self._volumes = openstack.connect().block_storage
        self._volumes.get('/types')
        self._pool = futures.ThreadPoolExecutor(at_once)
        self._patience = patience
        self._attachments: dict[str, str] = {}

    def _request(self, method: str, path: str, **kwargs: Any) -> Any:
        answer = self._volumes.request(
            path, method, microversion=_MICROVERSION, **kwargs
        )
        answer.raise_for_status()
        return answer.json() if answer.content else {}

    def _until_none(self, status: str) -> None:
        """Wait until no volume of the benchmark has a status.

        Asks for one volume at most: a list of all would take processor time
        from the services, the same for each type, and hide differences.

        :raises TimeoutError: if one still has it in the end
        """
        path = f'/volumes?name={_NAME}&status={status}&limit=1'
        deadline = time.monotonic() + self._patience
        while self._request('GET', path)['volumes']:
            if time.monotonic() > deadline:
                raise TimeoutError(f'volumes: {self.statuses()}')
            time.sleep(0.2)

    def statuses(self) -> dict[str, str]:
        """Return the status of each volume of the benchmark."""
        listed: dict[str, str] = {}
        path = f'/volumes/detail?name={_NAME}&limit=1000'
        while True:
            page = self._request('GET', path)['volumes']
            listed |= {each['id']: each['status'] for each in page}
            if len(page) < 1000:
                return listed
            path = f'{path}&marker={page[-1]["id"]}'

    def create(self, number: int, **source: str) -> list[str]:
        """Create volumes; return their IDs when all volumes are available.

        :param source: the volume type, or the ID of a snapshot
        """
        body = {'volume': {'name': _NAME, 'size': 1, **source}}
        made = list(
            self._pool.map(
                lambda _: self._request('POST', '/volumes', json=body),
                range(number),
            )
        )
        idents = [each['volume']['id'] for each in made]
        self._until_none('creating')
        return idents

    def attach(self, idents: Iterable[str]) -> None:
        """Attach volumes to a host; Cinder returns how to connect to them."""

        def one(ident: str) -> None:
            body = {'volume_uuid': ident, 'instance_uuid': ident}
            answer = self._request(
                'POST',
                '/attachments',
                json={'attachment': {**body, 'connector': _CONNECTOR}},
            )
            self._attachments[ident] = answer['attachment']['id']

        list(self._pool.map(one, idents))

    def detach(self, idents: Iterable[str]) -> None:
        """Delete the attachments."""
        list(
            self._pool.map(
                lambda ident: self._request(
                    'DELETE', f'/attachments/{self._attachments.pop(ident)}'
                ),
                idents,
            )
        )

    def snapshot(self, ident: str) -> str:
        """Create a snapshot of a volume; return its ID when it is usable."""
        body = {'snapshot': {'volume_id': ident, 'name': _NAME}}
        made = self._request('POST', '/snapshots', json=body)['snapshot']
        path = f'/snapshots/{made["id"]}'
        while self._request('GET', path)['snapshot']['status'] == 'creating':
            time.sleep(0.2)
        return str(made['id'])

    def delete_snapshot(self, ident: str) -> None:
        """Delete a snapshot, and wait until it no longer exists."""
        self._request('DELETE', f'/snapshots/{ident}')
        path = f'/snapshots?name={_NAME}'
        while self._request('GET', path)['snapshots']:
            time.sleep(0.2)

    def delete(self, idents: Iterable[str]) -> None:
        """Delete volumes, and wait until they no longer exist."""
        list(
            self._pool.map(
                lambda ident: self._request('DELETE', f'/volumes/{ident}'),
                idents,
            )
        )
        self._until_none('deleting')


def run(api: Api, kind: str, number: int) -> dict[str, float]:
    """Measure each step once; return the seconds of each.

    :raises RuntimeError: if a volume is lost or in error
    """
    took = {}
    idents: list[str] = []
    clones: list[str] = []
    snapshot = ''
    steps: dict[str, Callable[[], Any]] = {
        'create': lambda: idents.extend(api.create(number, volume_type=kind)),
        'attach': lambda: api.attach(idents),
        'detach': lambda: api.detach(idents),
        'clone': lambda: clones.extend(
            api.create(number, snapshot_id=snapshot)
        ),
        'delete': lambda: api.delete(idents),
    }
    for step in STEPS:
        if step == 'clone':
            snapshot = api.snapshot(idents[0])
        if step == 'delete':
            api.delete(clones)
            api.delete_snapshot(snapshot)
        began = time.monotonic()
        steps[step]()
        took[step] = time.monotonic() - began
        errors = {
            ident: status
            for ident, status in api.statuses().items()
            if ident in idents + clones and status.startswith('error')
        }
        if errors or len(set(idents)) != number:
            raise RuntimeError(f'{kind}, {step}: {errors or len(idents)}')
    return took


def main() -> int:
    """Run the benchmark; print times and ratios, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--types', nargs='+', required=True)
    parser.add_argument('--volumes', type=int, default=100)
    parser.add_argument('--at-once', type=int, default=100)
    parser.add_argument('--repetitions', type=int, default=3)
    parser.add_argument('--patience', type=float, default=1800.0)
    parser.add_argument('--json', action='store_true')
    args = parser.parse_args()
    api = Api(args.at_once, args.patience)
    taken: dict[str, list[dict[str, float]]] = {k: [] for k in args.types}
    for _ in range(args.repetitions):
        # Periodic tasks of the services would always meet the same type.
        for kind in random.sample(args.types, len(args.types)):
            taken[kind].append(run(api, kind, args.volumes))
    medians = {
        kind: {s: statistics.median(r[s] for r in runs) for s in STEPS}
        for kind, runs in taken.items()
    }
    if args.json:
        print(json.dumps({'volumes': args.volumes, 'runs': taken}))
        return 0
    first = medians[args.types[0]]
    print(f'{args.volumes} volumes, {args.at_once} requests at once')
    for kind, seconds in medians.items():
        for step in STEPS:
            print(
                f'{kind:<20} {step:<8} {seconds[step]:8.1f} s '
                f'{first[step] / seconds[step]:6.2f}'
            )
    return 0


if __name__ == '__main__':
    sys.exit(main())
