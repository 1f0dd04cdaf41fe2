# SPDX-License-Identifier: Apache-2.0

"""What this package requires of objects of Cinder, Ceph and of the driver.

The classes of Cinder and of Ceph's bindings are untyped. mypy checks
parameters of these types for attributes that do not exist.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Protocol
from typing import runtime_checkable

from rbd_volume_options import backend_settings

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
    provider_location: str | None
    replication_driver_data: str | None
    display_description: str | None
    snapshots: Any
    _context: Any

    def obj_attr_is_set(self, name: str) -> bool: ...
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
    _context: Any

    def obj_attr_is_set(self, name: str) -> bool: ...
    def obj_reset_changes(self, fields: Iterable[str]) -> None: ...


class Ioctx(Protocol):
    """A context of a pool, as of ``rados``."""

    def close(self) -> None: ...
    def get_pool_id(self) -> int: ...
    def get_pool_name(self) -> str: ...
    def stat(self, name: str) -> tuple[int, Any]: ...
    def read(self, name: str) -> bytes: ...
    def get_omap_vals_by_keys(
        self, operation: Any, names: tuple[str, ...]
    ) -> tuple[Iterator[tuple[str, bytes]], int]: ...
    def operate_read_op(self, operation: Any, name: str) -> None: ...
    def operate_write_op(
        self, operation: Any, name: str, *, flags: int = 0
    ) -> None: ...
    def operate_aio_read_op(self, operation: Any, name: str) -> Any: ...


class ObjectIoctx(Ioctx, Protocol):
    """A context for changes of the objects of images."""

    def remove_object(self, name: str) -> bool: ...
    def execute(
        self, name: str, group: str, method: str, data: bytes
    ) -> tuple[int, bytes]: ...


class Cluster(Protocol):
    def open_ioctx(self, pool: str) -> Any: ...
    def pool_reverse_lookup(self, pool_id: int) -> str: ...


class Client(Protocol):
    """A connection to a pool, as of the stock driver."""

    cluster: Any
    features: int
    ioctx: Ioctx


class Image(Protocol):
    """An open image, as of ``rbd``."""

    def get_name(self) -> str: ...
    def size(self) -> int: ...
    def stat(self) -> dict[str, Any]: ...
    def features(self) -> int: ...
    def flags(self) -> int: ...
    def overlap(self) -> int: ...
    def stripe_unit(self) -> int: ...
    def stripe_count(self) -> int: ...
    def data_pool_id(self) -> int: ...
    def group(self) -> dict[str, Any]: ...
    def update_features(self, features: int, enabled: bool) -> None: ...
    def rebuild_object_map(self, progress: Any = None) -> None: ...
    def config_list(self) -> Iterable[dict[str, Any]]: ...
    def metadata_list(self) -> Iterable[tuple[str, str]]: ...
    def metadata_set(self, name: str, value: str) -> None: ...
    def metadata_remove(self, name: str) -> None: ...
    def watchers_list(self) -> Iterable[dict[str, Any]]: ...
    def mirror_image_get_info(self) -> dict[str, Any]: ...
    def list_snaps(self) -> Iterable[dict[str, Any]]: ...
    def list_children2(self) -> Iterable[dict[str, Any]]: ...
    def set_snap(self, name: str | None) -> None: ...
    def remove_snap(self, name: str) -> None: ...
    def is_protected_snap(self, name: str) -> bool: ...
    def protect_snap(self, name: str) -> None: ...
    def unprotect_snap(self, name: str) -> None: ...
    def parent_info(self) -> tuple[str, str, str]: ...
    def get_parent_image_spec(self) -> dict[str, Any]: ...
    def diff_iterate(
        self,
        offset: int,
        length: int,
        from_snapshot: str | None,
        iterate_cb: Callable[[int, int, bool], None],
        include_parent: bool = True,
        whole_object: bool = False,
    ) -> None: ...


class OpenImage(Image, Protocol):
    """An open image, as of the stock driver, with its connection."""

    client: Cluster


class RBD(Protocol):
    """``rbd.RBD``, with the functions on images by their names."""

    def trash_list(self, ioctx: Ioctx) -> Iterable[dict[str, Any]]: ...
    def trash_get(self, ioctx: Ioctx, image_id: str) -> dict[str, Any]: ...
    def trash_move(self, ioctx: Ioctx, name: str, delay: int) -> None: ...


@runtime_checkable
class Driver(Protocol):
    """The driver of a back end, which provides connections and settings."""

    rados: Any
    rbd: Any
    librbd: Any
    images: Any
    host: str
    cluster_name: str | None
    STORAGE_PROTOCOL: str
    configuration: Any
    sharing: Any

    @property
    def backend_name(self) -> str: ...
    @property
    def settings(self) -> backend_settings.BackendSettings: ...
    @property
    def slow_deletions(self) -> tuple[int, int]: ...
    def _ceph_args(self) -> list[str]: ...
    def _get_fsid(self) -> str: ...
    def _try_remove_volume(self, client: Any, name: str) -> None: ...
    def _qos_specs_from_volume_type(
        self, volume_type: VolumeType | None
    ) -> Mapping[str, str] | None: ...
    def RBDProxy(self) -> Any: ...
    def _connect_to_rados(self, *args: object) -> Any: ...
    def _disconnect_from_rados(self, client: object, ioctx: Ioctx) -> None: ...
    def _get_config_tuple(
        self, remote: Any = None
    ) -> tuple[str, str, str, str | None]: ...
