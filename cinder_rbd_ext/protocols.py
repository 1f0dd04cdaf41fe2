# SPDX-License-Identifier: Apache-2.0

"""What this package requires of objects of Cinder and of the driver.

The classes of Cinder are untyped. mypy checks parameters of these types for
attributes that do not exist.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import Protocol
from typing import runtime_checkable

from rbd_volume_options import backend_settings
from rbd_volume_options import bindings

#: What a compute host, or Cinder itself, says about the host of an attachment.
Connector = Mapping[str, Any]


class Context(Protocol):
    """The context of a request, with the caller and its roles."""

    request_id: str
    project_id: str
    is_admin: bool

    def authorize(
        self,
        action: str,
        target: object = None,
        target_obj: object = None,
        fatal: bool = True,
    ) -> bool: ...
    def elevated(self) -> 'Context': ...


class Request(Protocol):
    environ: dict[str, Any]
    GET: Mapping[str, str]
    api_version_request: Any

    def get_db_volume(self, volume_id: str) -> 'Volume': ...


class Response(Protocol):
    obj: dict[str, Any]


class VolumeType(Protocol):
    id: str
    name: str
    extra_specs: Mapping[str, str] | None

    def __getitem__(self, name: str) -> Any: ...


@runtime_checkable
class Volume(Protocol):
    """A volume of Cinder, as read from its database."""

    id: str
    name: str
    name_id: str
    size: int
    status: str
    previous_status: str | None
    migration_status: str | None
    host: str | None
    cluster_name: str | None
    service_topic_queue: str
    project_id: str
    volume_type: Any
    volume_type_id: str | None
    volume_attachment: Any
    multiattach: bool
    use_quota: bool
    metadata: dict[str, str]
    admin_metadata: dict[str, str]
    source_volid: str | None
    group_id: str | None
    provider_id: str | None
    provider_location: str | None
    replication_driver_data: str | None
    display_description: str | None
    encryption_key_id: str | None
    snapshots: Any
    replication_extended_status: str | None
    provider_geometry: str | None
    OPTIONAL_FIELDS: Any
    _name_id: str | None
    _context: Any

    def obj_attr_is_set(self, name: str) -> bool: ...
    def cinder_obj_get_changes(self) -> dict[str, Any]: ...
    def obj_reset_changes(
        self, fields: Iterable[str] | None = None
    ) -> None: ...
    def save(self) -> None: ...
    def conditional_update(
        self, values: Mapping[str, Any], expected_values: Mapping[str, Any]
    ) -> int: ...
    def delete_metadata_key(self, key: str) -> None: ...


class Snapshot(Protocol):
    id: str
    name: str
    volume: Volume
    volume_id: str
    volume_name: str
    volume_size: int
    volume_type_id: str | None
    group_snapshot_id: str | None
    status: str
    _context: Any

    def save(self) -> None: ...
    def obj_reset_changes(self, fields: Iterable[str]) -> None: ...


class Client(Protocol):
    """A connection to a pool, as of the stock driver."""

    cluster: Any
    features: int
    ioctx: bindings.Ioctx


@runtime_checkable
class Driver(Protocol):
    """The driver of a back end, which provides connections and settings."""

    rados: Any
    rbd: Any
    librbd: Any
    images: Any
    configurations: Any
    purger: Any
    _stats: dict[str, Any]
    host: str
    cluster_name: str | None
    STORAGE_PROTOCOL: str
    configuration: Any
    sharing: Any

    @property
    def backend_name(self) -> str: ...
    @property
    def settings(self) -> backend_settings.BackendSettings: ...
    def _ceph_args(self) -> list[str]: ...
    def _get_fsid(self) -> str: ...
    def _flatten(self, pool: str, volume_name: str) -> None: ...
    def _delete_backup_snaps(self, image: bindings.OpenImage) -> None: ...
    def keeps_former_image(
        self, volume_id: str, snapshots: Iterable[str]
    ) -> bool: ...
    def _qos_specs_from_volume_type(
        self, volume_type: VolumeType | None
    ) -> Mapping[str, str] | None: ...
    def RBDProxy(self) -> Any: ...
    def _connect_to_rados(self, *args: object) -> Any: ...
    def _disconnect_from_rados(
        self, client: object, ioctx: bindings.Ioctx
    ) -> None: ...
    def _get_config_tuple(
        self, remote: Any = None
    ) -> tuple[str, str, str, str | None]: ...
