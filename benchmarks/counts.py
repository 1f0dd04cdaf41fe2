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

"""Counts the requests of a driver, which do not depend on the load."""

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any
from unittest import mock

import rados
import rbd
import sqlalchemy
from sqlalchemy import event

_CLASSES: list[type] = []


@dataclasses.dataclass
class Counts:
    """The number of requests.

    :ivar contexts: connections that the operations requested; a driver that
        shares connections rarely opens a new one for them
    :ivar connections: connections that were opened to the cluster
    :ivar opens: images that the driver opened or tried to open; images that
        librbd opens itself are not counted
    :ivar statements: statements sent to the database
    :ivar commands: programs started
    """

    contexts: int = 0
    connections: int = 0
    opens: int = 0
    statements: int = 0
    commands: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return dataclasses.asdict(self)


@contextlib.contextmanager
def counting(driver: Any) -> Iterator[Counts]:
    """Count the requests of this process while a driver runs."""
    found = Counts()

    class Rados(rados.Rados):
        def connect(self, *args: Any, **kwargs: Any) -> None:
            found.connections += 1
            super().connect(*args, **kwargs)

    class Image(rbd.Image):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            found.opens += 1
            super().__init__(*args, **kwargs)

    def connect(*args: Any, **kwargs: Any) -> Any:
        found.contexts += 1
        return stock_connect(*args, **kwargs)

    def execute(*args: Any, **kwargs: Any) -> Any:
        found.commands += 1
        return stock_execute(*args, **kwargs)

    def sent(_: Any, __: Any, statement: str, *___: Any) -> None:
        # SQLite's driver sends BEGIN as a statement. Other drivers call a
        # function.
        if statement != 'BEGIN':
            found.statements += 1

    # The classes are kept: if the garbage collector removes an object together
    # with its class, the object cannot be closed.
    _CLASSES.extend((Rados, Image))
    stock_connect = driver._connect_to_rados
    stock_execute = driver._execute
    engine = sqlalchemy.engine.Engine
    with (
        mock.patch.object(rados, 'Rados', Rados),
        mock.patch.object(rbd, 'Image', Image),
        mock.patch.object(driver, '_connect_to_rados', connect),
        mock.patch.object(driver, '_execute', execute),
    ):
        event.listen(engine, 'before_cursor_execute', sent)
        try:
            yield found
        finally:
            event.remove(engine, 'before_cursor_execute', sent)
