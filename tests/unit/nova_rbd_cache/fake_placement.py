# SPDX-License-Identifier: Apache-2.0

"""A fake of Nova's Placement client, with the traits of compute nodes."""

import types
from typing import Any
from urllib import parse


class FakePlacement:
    """A fake client for two queries; unreported traits are unknown.

    :ivar nodes: traits of each compute node, by its UUID
    :ivar status: status of each response
    """

    def __init__(self, **nodes: set[str]) -> None:
        self.nodes = nodes
        self.status = 200

    def get(self, url: str, version: str, global_request_id: str) -> Any:
        """Return the response to a query."""
        path, _, query = url.partition('?')
        body = self._found(path, dict(parse.parse_qsl(query)))
        known = body is not None and version == '1.18' and global_request_id
        status = self.status if known else 400
        return types.SimpleNamespace(
            status_code=status, text='no', json=lambda: body
        )

    def _found(self, path: str, query: dict[str, str]) -> Any:
        known = {each for traits in self.nodes.values() for each in traits}
        if path == '/traits':
            names = query['name'].removeprefix('in:').split(',')
            return {'traits': sorted(known & set(names))}
        trait = query['required']
        if path != '/resource_providers' or trait not in known:
            return None
        return {
            'resource_providers': [
                {'uuid': node}
                for node, traits in self.nodes.items()
                if trait in traits
            ]
        }
