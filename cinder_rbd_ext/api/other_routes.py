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

"""Routes of Cinder's API that the API extension does not check."""

_OLDER = 'Services and extensions that older releases of Cinder have'

#: Requests that cannot affect a volume, its metadata, its type or its
#: attachment, by reason.
OTHERS: dict[str, tuple[str, ...]] = {
    'Data and status of snapshots, not their metadata': (
        'PUT /snapshots/{id}',
        'DELETE /snapshots/{snapshot_id}/metadata/{id}',
        'POST /snapshots/{id}/action os-reset_status',
        'POST /snapshots/{id}/action os-update_snapshot_status',
    ),
    'Backups themselves': (
        'PUT /backups/{id}',
        'DELETE /backups/{id}',
        'POST /backups/{id}/action os-force_delete',
        'POST /backups/{id}/action os-reset_status',
    ),
    'Groups without volumes, and group snapshots, which have no metadata': (
        'POST /groups',
        'POST /groups/{id}/action disable_replication',
        'POST /groups/{id}/action enable_replication',
        'POST /groups/{id}/action failover_replication',
        'POST /groups/{id}/action list_replication_targets',
        'POST /groups/{id}/action reset_status',
        'POST /groups/action disable_replication',
        'POST /groups/action enable_replication',
        'POST /groups/action failover_replication',
        'POST /groups/action list_replication_targets',
        'POST /groups/action reset_status',
        'POST /group_snapshots',
        'DELETE /group_snapshots/{id}',
        'POST /group_snapshots/{id}/action reset_status',
        'POST /consistencygroups',
        'POST /cgsnapshots',
        'DELETE /cgsnapshots/{id}',
        'POST /group_types',
        'PUT /group_types/{id}',
        'DELETE /group_types/{id}',
        'POST /group_types/{group_type_id}/group_specs',
        'PUT /group_types/{group_type_id}/group_specs/{id}',
        'DELETE /group_types/{group_type_id}/group_specs/{id}',
    ),
    'Names of methods that Cinder lists among the actions of types': (
        'POST /types/{id}/action update',
        'POST /types/{id}/action delete',
    ),
    'QoS, quotas and messages': (
        'POST /qos-specs',
        'PUT /qos-specs/{id}',
        'PUT /qos-specs/{id}/delete_keys',
        'DELETE /qos-specs/{id}',
        'PUT /os-quota-sets/{id}',
        'DELETE /os-quota-sets/{id}',
        'PUT /os-quota-class-sets/{id}',
        'DELETE /messages/{id}',
    ),
    'Services': (
        'POST /workers/cleanup',
        'PUT /clusters/disable',
        'PUT /clusters/enable',
        'PUT /os-hosts',
        'PUT /os-hosts/{id}',
        'PUT /os-services/disable',
        'PUT /os-services/disable-log-reason',
        'PUT /os-services/enable',
        'PUT /os-services/failover_host',
        'PUT /os-services/freeze',
        'PUT /os-services/get-log',
        'PUT /os-services/set-log',
        'PUT /os-services/thaw',
    ),
    _OLDER: (
        'PUT /clusters/{id}',
        'PUT /os-services/{id}',
        'POST /extensions',
        'DELETE /extensions/{id}',
    ),
}

#: Requests that only older releases of Cinder have.
OLDER = frozenset(OTHERS[_OLDER])
