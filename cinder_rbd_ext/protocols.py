# SPDX-License-Identifier: Apache-2.0

"""What this package requires of objects of Cinder and of the driver.

Cinder's classes are untyped. Parameters of these types are checked for
attributes that no volume or driver has.
"""

from collections.abc import Mapping
from typing import Any
from typing import Protocol
from typing import runtime_checkable

from cinder_rbd_ext import backend_settings

#: What a compute host, or Cinder itself, says about the host of an attachment.
Connector = Mapping[str, Any]


@runtime_checkable
class Volume(Protocol):
    """A volume of Cinder, as read from its database."""

    id: str
    name: str
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
    snapshot_id: str | None
    provider_location: str | None
    replication_driver_data: str | None
    _context: Any

    def obj_attr_is_set(self, name: str) -> bool:
        """Return whether an attribute was read."""


@runtime_checkable
class Driver(Protocol):
    """The driver of a back end, which provides connections and settings."""

    rados: Any
    rbd: Any
    librbd: Any
    host: str | None
    configuration: Any
    sharing: Any

    @property
    def backend_name(self) -> str:
        """The name of the section of ``cinder.conf``."""

    @property
    def settings(self) -> backend_settings.BackendSettings:
        """The settings of the back end."""

    @property
    def slow_deletions(self) -> tuple[int, int]:
        """The numbers of slow deletions that run and that wait."""

    def RBDProxy(self) -> Any:
        """Return ``rbd.RBD``, whose methods leave the thread to others."""

    def _connect_to_rados(self, *args: Any) -> Any:
        """Return a client and a context of a pool."""

    def _disconnect_from_rados(self, client: Any, ioctx: Any) -> None:
        """End the use of a client."""

    def _get_config_tuple(
        self, remote: Any = None
    ) -> tuple[str, str, str, str | None]:
        """Return the cluster, its configuration, the user and the secret."""
