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

"""Routes of Cinder's API, with the checks of the API extension.

Each request that may change something is in one of two lists. This module
lists requests that can affect a volume, its metadata, its type or its
attachment, with the check or the reason why there is none. ``other_routes``
lists all others. A test compares both lists with Cinder's router and fails if
a later release adds a route. GET requests change nothing and are not listed.
"""

from collections.abc import Iterator
import dataclasses

from cinder_rbd_ext.api import other_routes

_API = 'cinder_rbd_ext.api.'
_VOLUMES = f'{_API}volumes'
_METADATA = f'{_API}metadata'
_TYPES = f'{_API}types'
_SNAPSHOTS = f'{_API}snapshots'
_MANAGING = f'{_API}managing'
_ATTACHMENTS = f'{_API}attachments'
_GROUPS = f'{_API}groups'
_DRIVER = 'cinder_rbd_ext.driver'
_MOVING = 'cinder_rbd_ext.lifecycle.migration'
_RESTORING = 'cinder_rbd_ext.lifecycle.restore'

# What a cinder-api service without the extension lets through.
_WAITS = 'The driver waits for the retype, for a limited time.'
_ERROR = 'Nothing: the driver checks it, and the volume is then in error.'
_STORED = (
    'Keys are stored. No image changes. A cache mode needs the permission of '
    'the type or the back end at the attachment; the policy for it is not '
    'checked. A later retype checks the other keys.'
)
_NO_EFFECT = 'Keys are stored and have no effect.'
_CONNECTOR = (
    'A tenant may list cache modes in a connector. The driver '
    'checks that the volume may have the mode, and nova-compute what its host '
    'allows, each time it starts a guest.'
)
_SPECS = (
    'Administrators may set invalid extra specs. The driver refuses volumes '
    'of the type.'
)

_STATE = 'Changes the status only.'
_REMOVES = 'Deletes; no values are set.'
_NAMES = 'Changes name and description only.'


@dataclasses.dataclass(frozen=True)
class Route:
    """A request that can affect what our rules apply to.

    :ivar request: method, path below the project, and action, if any
    :ivar check: the module that checks it; None if no check is required
    :ivar what: what is checked, or why no check is required
    :ivar past: what a cinder-api service without the extension lets through;
        only for requests that the extension checks
    :ivar since: the first major version of Cinder that has it
    """

    request: str
    check: str | None
    what: str
    past: str = ''
    since: int = 0

    @property
    def without_extension(self) -> str:
        """What a service without the extension lets through."""
        if self.past:
            return self.past
        return 'Nothing: the driver checks it.' if self.check else 'No change.'


def _volume(
    action: str, check: str | None, what: str, past: str = ''
) -> Route:
    return Route(f'POST /volumes/{{id}}/action {action}', check, what, past)


ROUTES: tuple[Route, ...] = (
    Route(
        'POST /volumes',
        _VOLUMES,
        'Keys, values, scope and policy; also without keys, size and source '
        'against the type and its back ends.',
        _ERROR,
    ),
    Route(
        'PUT /volumes/{id}',
        _VOLUMES,
        'Metadata, which replaces all existing items, as PUT of the metadata.',
        _STORED,
    ),
    Route('DELETE /volumes/{id}', None, _REMOVES),
    Route(
        'POST /volumes/{volume_id}/metadata',
        _METADATA,
        'Keys, values, scope and policy; fixed keys do not change.',
        _STORED,
    ),
    Route(
        'PUT /volumes/{volume_id}/metadata',
        _METADATA,
        'The same; fixed keys that are missing would be removed.',
        _STORED,
    ),
    Route(
        'PUT /volumes/{volume_id}/metadata/{id}',
        _METADATA,
        'The same, for the key of the path and of the body.',
        _STORED,
    ),
    Route(
        'DELETE /volumes/{volume_id}/metadata/{id}',
        _METADATA,
        'Fixed keys are not removed, nor keys that the database considers '
        'equal to the given one.',
        _STORED,
    ),
    _volume(
        'os-extend',
        _VOLUMES,
        'The new size against the layout of the image.',
        _ERROR,
    ),
    _volume(
        'os-extend_volume_completion', None, 'os-extend has been checked.'
    ),
    _volume(
        'os-retype',
        _VOLUMES,
        'Keys, layout and features with the new type, if the caller sees the '
        'type.',
        'Nothing: the driver checks it, and the volume keeps its type.',
    ),
    _volume(
        'os-set_image_metadata',
        _VOLUMES,
        'No key that the database considers equal to an ``rbd:`` key.',
        _NO_EFFECT,
    ),
    _volume('os-unset_image_metadata', None, 'Image metadata is not used.'),
    _volume('os-show_image_metadata', None, 'Reads only.'),
    _volume(
        'os-initialize_connection',
        _ATTACHMENTS,
        'The cache mode against the modes that the compute host accepts.',
        _CONNECTOR,
    ),
    _volume(
        'os-migrate_volume',
        _MOVING,
        'Keys, layout and features against the target back end.',
    ),
    _volume(
        'os-migrate_volume_completion',
        _DRIVER,
        'The record of the new image is copied to the volume.',
    ),
    _volume(
        'os-reimage', _DRIVER, 'The image keeps layout, features and pool.'
    ),
    _volume('revert', None, 'Changes the data of the RBD image only.'),
    _volume(
        'os-volume_upload_image',
        None,
        'Copies data; Glance sets the layout of its image.',
    ),
    _volume('os-unmanage', None, 'Does not change the RBD image.'),
    _volume('os-force_delete', None, _REMOVES),
    _volume('os-attach', None, _STATE),
    _volume('os-detach', None, _STATE),
    _volume('os-begin_detaching', None, _STATE),
    _volume('os-roll_detaching', None, _STATE),
    _volume('os-reserve', None, _STATE),
    _volume('os-unreserve', None, _STATE),
    _volume('os-reset_status', None, _STATE),
    _volume('os-force_detach', None, 'Ends an attachment.'),
    _volume(
        'os-terminate_connection',
        _ATTACHMENTS,
        'Refused during the restore of a backup.',
        'The tenant may end the restore of its own backup.',
    ),
    _volume('os-set_bootable', None, 'Changes a flag of the volume.'),
    _volume('os-update_readonly_flag', None, 'Changes a flag of the volume.'),
    Route(
        'POST /attachments',
        _ATTACHMENTS,
        'The connector, if the request has one, as PUT.',
        _CONNECTOR,
    ),
    Route(
        'PUT /attachments/{id}',
        _ATTACHMENTS,
        'The cache mode against the modes that the compute host accepts.',
        _CONNECTOR,
    ),
    Route('DELETE /attachments/{id}', None, 'Ends an attachment.'),
    Route('POST /attachments/{id}/action os-complete', None, _STATE),
    Route(
        'POST /os-volume-manage',
        _MANAGING,
        'Keys, values, scope and policy, but not rbd_tenant_options. The '
        'driver compares them with the RBD image.',
        _ERROR,
    ),
    Route('POST /manageable_volumes', _MANAGING, 'The same.', _ERROR),
    Route(
        'POST /types',
        _TYPES,
        'Keys, values and policy; the layout against the back ends.',
        _SPECS,
    ),
    Route(
        'POST /types/{id}/action create',
        _TYPES,
        'The same method; Cinder refuses the request.',
        _SPECS,
    ),
    Route(
        'POST /types/{type_id}/extra_specs',
        _TYPES,
        'As POST of the type, with all resulting extra specs.',
        _SPECS,
    ),
    Route(
        'PUT /types/{type_id}/extra_specs/{id}', _TYPES, 'The same.', _SPECS
    ),
    Route(
        'DELETE /types/{type_id}/extra_specs/{id}',
        _TYPES,
        'The remaining extra specs, if they were valid before.',
        _SPECS,
    ),
    Route('PUT /types/{id}', None, _NAMES),
    Route('DELETE /types/{id}', None, 'Cinder refuses it for a type in use.'),
    Route(
        'POST /types/{id}/action addProjectAccess',
        None,
        'Changes which projects see the type.',
    ),
    Route(
        'POST /types/{id}/action removeProjectAccess',
        None,
        'Changes which projects see the type.',
    ),
    Route(
        'POST /types/{type_id}/encryption',
        None,
        'Encrypted volumes have the same layouts.',
    ),
    Route('PUT /types/{type_id}/encryption/{id}', None, 'The same.'),
    Route('DELETE /types/{type_id}/encryption/{id}', None, 'The same.'),
    Route(
        'PUT /default-types/{id}',
        None,
        'Chooses a type; volumes are checked when they are created.',
    ),
    Route('DELETE /default-types/{id}', None, 'The same.'),
    Route(
        'POST /snapshots',
        _SNAPSHOTS,
        'No ``rbd:`` keys, because they would have no effect.',
        _NO_EFFECT,
    ),
    Route('POST /os-snapshot-manage', _SNAPSHOTS, 'The same.', _NO_EFFECT),
    Route('POST /manageable_snapshots', _SNAPSHOTS, 'The same.', _NO_EFFECT),
    Route(
        'DELETE /snapshots/{id}',
        _SNAPSHOTS,
        'Refused while a retype replaces the image of the volume.',
        _WAITS,
    ),
    Route(
        'POST /snapshots/{id}/action os-force_delete',
        _SNAPSHOTS,
        'The same.',
        _WAITS,
    ),
    Route(
        'POST /snapshots/{id}/action os-unmanage',
        _SNAPSHOTS,
        'The same.',
        _WAITS,
    ),
    Route(
        'POST /snapshots/{snapshot_id}/metadata',
        _SNAPSHOTS,
        'No ``rbd:`` key is added or changed.',
        _NO_EFFECT,
    ),
    Route(
        'PUT /snapshots/{snapshot_id}/metadata',
        _SNAPSHOTS,
        'The same.',
        _NO_EFFECT,
    ),
    Route(
        'PUT /snapshots/{snapshot_id}/metadata/{id}',
        _SNAPSHOTS,
        'The same.',
        _NO_EFFECT,
    ),
    Route(
        'POST /backups',
        None,
        'Copies data and metadata, which are checked at a restore.',
    ),
    Route(
        'POST /backups/import_record',
        None,
        'The content of the record is checked at a restore.',
    ),
    Route(
        'POST /backups/{id}/restore',
        _RESTORING,
        'The volume keeps its keys; those of the backup are checked.',
    ),
    Route(
        'POST /groups/action create-from-src',
        _GROUPS,
        'The size and the source of each volume against its type and the '
        'back end of the group. The request has no keys.',
        _ERROR,
    ),
    Route(
        'POST /groups/{id}/action create-from-src',
        _GROUPS,
        'The same method; Cinder refuses the request.',
        _ERROR,
    ),
    Route(
        'POST /consistencygroups/create_from_src',
        _GROUPS,
        'As POST of a group.',
        _ERROR,
    ),
    Route('POST /groups/{id}/action delete', None, _REMOVES),
    Route('POST /groups/action delete', None, _REMOVES),
    Route('DELETE /groups/{id}', None, _REMOVES),
    Route('POST /consistencygroups/{id}/delete', None, _REMOVES),
    Route('DELETE /consistencygroups/{id}', None, _REMOVES),
    Route('PUT /groups/{id}', None, 'Changes which volumes are members.'),
    Route('PUT /consistencygroups/{id}', None, 'The same.'),
    Route('PUT /consistencygroups/{id}/update', None, 'The same.'),
    Route('POST /volume-transfers', None, _STATE),
    Route('POST /os-volume-transfer', None, _STATE),
    Route(
        'POST /volume-transfers/{id}/accept',
        None,
        'Changes the owner only.',
    ),
    Route('POST /os-volume-transfer/{id}/accept', None, 'The same.'),
    Route('DELETE /volume-transfers/{id}', None, _STATE),
    Route('DELETE /os-volume-transfer/{id}', None, _STATE),
)

#: Placeholder in the contributor guide for the result of :func:`table`.
PLACE = '.. The tables of cinder_rbd_ext.api.routes are inserted here.'


def table() -> str:
    """Return the routes as tables for the documentation."""
    return '\n'.join(_lines())


def _lines() -> Iterator[str]:
    yield from _head(
        'Request',
        'Check',
        'What is checked, or why no check is required',
        'What a service without the extension lets through',
    )
    for route in ROUTES:
        yield f'   * - ``{route.request}``'
        yield f'     - {f"``{route.check}``" if route.check else "none"}'
        since = f' Since Cinder {route.since}.' if route.since else ''
        yield f'     - {route.what}{since}'
        yield f'     - {route.without_extension}'
    yield ''
    yield 'These requests do not affect any of that:'
    yield ''
    yield from _head('Requests', 'Why')
    for why, requests in other_routes.OTHERS.items():
        yield f'   * - | ``{requests[0]}``'
        yield from (f'       | ``{each}``' for each in requests[1:])
        yield f'     - {why}.'
    yield ''


def _head(*titles: str) -> Iterator[str]:
    yield '.. list-table::'
    yield '   :header-rows: 1'
    yield ''
    for number, title in enumerate(titles):
        yield f'   {"* " if not number else "  "}- {title}'
