# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Completes unfinished migrations of librbd within a pool."""

from typing import Any

from rbd_operator.maintenance import outcomes

ELSEWHERE = outcomes.Reason(
    'migrating',
    'the image is being migrated by another program, or to another pool',
    'Wait, or finish it: rbd migration execute, then commit.',
)


def finish(librbd: Any, ioctx: Any, name: str) -> str:
    """Finish an interrupted migration; return a description of the action.

    A migration is not aborted once the new image is complete, because a
    client may have written to it. librbd refuses the steps while a client has
    an image open.

    :param librbd: the module ``rbd``
    :param name: of the new image
    :raises Refused: if the former image is in another pool
    :raises rbd.Error: if a step fails. The call can be repeated.
    """
    api = librbd.RBD()
    found = api.migration_status(ioctx, name)
    if found['source_pool_id'] != found['dest_pool_id']:
        raise outcomes.Refused(ELSEWHERE)
    copied = librbd.RBD_IMAGE_MIGRATION_STATE_EXECUTED
    copying = (
        librbd.RBD_IMAGE_MIGRATION_STATE_PREPARED,
        librbd.RBD_IMAGE_MIGRATION_STATE_EXECUTING,
    )
    if found['state'] not in (*copying, copied):
        api.migration_abort(ioctx, name)
        return 'aborted its migration'
    if found['state'] in copying:
        api.migration_execute(ioctx, name)
    api.migration_commit(ioctx, name)
    return 'finished its migration'
