# SPDX-License-Identifier: Apache-2.0

"""Cinder as retypes see it: its volumes, and what it does with them."""

from collections.abc import Iterator
import dataclasses
from typing import Any

from rbd_volume_options import image_record
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.fleet import volume_service
from tests.unit.rbd_volume_tools.audit import facts


class Cinder:
    """A service that retypes a volume while its status is read some times.

    :ivar volumes: by their ids
    :ivar reads: how often the status of a volume is read until it is retyped
    :ivar refused: messages for volumes whose retype the API refuses
    :ivar failed: the reason for volumes whose image is not converted; None
        if Cinder gives no reason
    :ivar silent: number of the next requests without an answer
    :ivar made: the attributes of a volume after its retype
    :ivar most: how many were being retyped at once
    """

    def __init__(self, *idents: str) -> None:
        self.volumes: dict[str, records.Volume] = {}
        for ident in idents:
            self.add(ident)
        self.reads = 2
        self.refused: dict[str, str] = {}
        self.failed: dict[str, str | None] = {}
        self.silent = 0
        self.requested: list[str] = []
        self.most = 0
        self.made: dict[str, Any] = {}
        self._left: dict[str, int] = {}

    def add(self, ident: str, **values: Any) -> None:
        fields = {'volume_type': 'old', **values}
        self.volumes[ident] = facts.volume(ident, **fields)

    def change(self, ident: str, **values: Any) -> None:
        self.volumes[ident] = dataclasses.replace(
            self.volumes[ident], **values
        )

    def show(self, ident: str) -> records.Volume | None:
        """Return a volume, whose retype goes on."""
        self._answer()
        if ident in self._left:
            self._left[ident] -= 1
            if not self._left[ident]:
                self._finish(ident)
            elif self._left[ident] == 1:
                half = {'percent': 50, 'at': 'now', 'reason': None}
                self.change(
                    ident, made={image_record.ATTRIBUTE_CONVERSION: half}
                )
        return self.volumes.get(ident)

    def retype(self, ident: str, target: str, policy: str) -> str:
        """Begin a retype."""
        self._answer()
        if ident in self.refused:
            raise outcomes.Refused(
                volume_service.BY_CINDER, self.refused[ident]
            )
        self.begin(ident)
        return ''

    def begin(self, ident: str) -> None:
        self.requested.append(ident)
        self.change(ident, status='retyping')
        self._left[ident] = self.reads
        self.most = max(self.most, len(self._left))

    def type_of(self, name: str) -> dict[str, Any]:
        """Return a type whose id is its name in capitals."""
        specs = {'rbd:stripe_unit': '64K'} if name.lower() == 'old' else {}
        return {
            'id': name.upper(),
            'name': name.lower(),
            'extra_specs': specs,
        }

    def listed(self) -> Iterator[records.Volume]:
        yield from self.volumes.values()

    def _answer(self) -> None:
        if self.silent:
            self.silent -= 1
            raise outcomes.NotAnswered('HTTP 503')

    def _finish(self, ident: str) -> None:
        del self._left[ident]
        if ident in self.failed:
            reason = self.failed[ident]
            told = {'percent': None, 'reason': reason}
            made = {image_record.ATTRIBUTE_CONVERSION: told}
            self.change(ident, status='available', made=made)
        else:
            self.change(
                ident, status='available', volume_type='new', made=self.made
            )
