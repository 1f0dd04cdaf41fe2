# SPDX-License-Identifier: Apache-2.0

"""Volumes and snapshots of a benchmark in Cinder's database."""

from typing import Any

from cinder import context
from cinder import objects
from cinder.volume import volume_types


class Records:
    """Creates the records of volumes of one type, without RBD images.

    :ivar idents: the ID of each volume
    """

    def __init__(self, name: str) -> None:
        """Create the volume type.

        :param name: the name of the type and of its back end
        """
        self.context = context.get_admin_context()
        self.type_id = volume_types.create(self.context, name, {})['id']
        self._name = name
        self.idents: list[str] = []

    def volume(self, **values: Any) -> Any:
        """Create the record of a volume of 1 GiB."""
        volume = objects.Volume(
            self.context,
            host=f'bench@{self._name}#{self._name}',
            size=1,
            status='creating',
            project_id='bench',
            user_id='bench',
            volume_type_id=self.type_id,
            **values,
        )
        volume.create()
        self.idents.append(volume.id)
        return objects.Volume.get_by_id(self.context, volume.id)

    def snapshot(self, volume: Any) -> Any:
        """Create the record of a snapshot."""
        snapshot = objects.Snapshot(
            self.context,
            volume_id=volume.id,
            volume_size=volume.size,
            status='creating',
            project_id='bench',
            user_id='bench',
            volume_type_id=self.type_id,
        )
        snapshot.create()
        return objects.Snapshot.get_by_id(self.context, snapshot.id)
