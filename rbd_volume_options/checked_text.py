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

"""What the configuration types of all services have in common.

Each service's package makes an oslo.config type of it, by its own import of
oslo.config: this package imports nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rbd_volume_options import errors


class CheckedText:
    """A type whose values are checked by a parser, and kept as text.

    oslo.config shows an option's value in the log when a service starts with
    debug on, and samples its default: both are best as people wrote them.
    Types with the same parser and name are equal: glance_store registers the
    options of a store again and again, and oslo.config takes that only from
    equal ones.

    :param parser: returns anything, or raises :class:`errors.OptionError`
    :param type_name: as samples and references of the configuration show it
    """

    def __init__(self, parser: Callable[[str], Any], type_name: str) -> None:
        self.type_name = type_name
        self._parser = parser

    def __call__(self, value: Any) -> str:
        """Return the value as text.

        :raises ValueError: for one that the parser refuses, with the reason
            and what is allowed, and without the key: oslo.config names the
            option itself
        """
        try:
            self._parser(str(value))
        except errors.OptionError as error:
            raise ValueError(
                f'{error.reason}; allowed: {error.allowed}'
            ) from error
        return str(value)

    def __repr__(self) -> str:
        return self.type_name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CheckedText)
            and self._parser == other._parser
            and self.type_name == other.type_name
        )

    def __hash__(self) -> int:
        return hash(self.type_name)

    def _formatter(self, value: Any) -> str:
        """Return what a sample shows, as oslo.config asks for it."""
        return str(value)
