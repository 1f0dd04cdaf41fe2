# SPDX-License-Identifier: Apache-2.0

"""Groups of volumes."""

from typing import Any
import uuid

from tests.cloud import base


class GroupTestCase(base.CloudTestCase):
    """Base class for tests with groups, which are deleted with volumes."""

    def group_type(self) -> str:
        """Create a type of groups; return its ID."""
        answer = self.request(
            'POST',
            '/group_types',
            {'group_type': {'name': f'test-{uuid.uuid4().hex[:8]}'}},
            self.operator,
        )
        ident: str = answer['group_type']['id']
        self.addCleanup(
            self.operator.block_storage.delete,
            f'/group_types/{ident}',
            microversion=base.MICROVERSION,
        )
        return ident

    def group(self, volume_type: str = 'rbd') -> str:
        """Create a group for volumes of a type; return its ID."""
        body = {'group_type': self.group_type(), 'volume_types': [volume_type]}
        return self.created_group('/groups', 'group', body)

    def created_group(self, path: str, key: str, body: dict[str, Any]) -> str:
        """Create a group with a request; return its ID."""
        answer = self.request('POST', path, {key: {'name': 'test', **body}})
        ident: str = answer['group']['id']
        self.addCleanup(self.remove_group, ident)
        self.wait_for(ident, kind='groups')
        return ident

    def member(
        self,
        group: str,
        volume_type: str = 'rbd',
        metadata: dict[str, str] = base.ASKED,
    ) -> str:
        """Create a volume of a group; return its ID."""
        body = {
            'size': 1,
            'volume_type': volume_type,
            'group_id': group,
            'metadata': metadata,
        }
        answer = self.request('POST', '/volumes', {'volume': body})
        ident: str = answer['volume']['id']
        self.wait_for(ident)
        return ident

    def group_of_one(self) -> tuple[str, str]:
        """Create a group with a volume; return their IDs."""
        group = self.group()
        return group, self.member(group)

    def group_snapshot(self, group: str) -> str:
        """Create a snapshot of a group; return its ID."""
        body = {'group_snapshot': {'name': 'test', 'group_id': group}}
        answer = self.request('POST', '/group_snapshots', body)
        ident: str = answer['group_snapshot']['id']
        self.addCleanup(self.remove, ident, 'group_snapshots')
        self.wait_for(ident, kind='group_snapshots')
        return ident

    def members(self, group: str) -> list[str]:
        """Return the IDs of the volumes of a group."""
        answer = self.request('GET', f'/volumes/detail?group_id={group}')
        return [volume['id'] for volume in answer['volumes']]

    def remove_group(self, group: str) -> None:
        """Delete a group with its volumes."""
        api = self.operator.block_storage
        api.post(
            f'/groups/{group}/action',
            json={'delete': {'delete-volumes': True}},
            microversion=base.MICROVERSION,
        )
        self.until(
            lambda: (
                api.get(
                    f'/groups/{group}', microversion=base.MICROVERSION
                ).status_code
                == 404
            )
        )
