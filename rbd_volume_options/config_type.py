# SPDX-License-Identifier: Apache-2.0

"""The type of options in the configuration files of all services.

This package imports only the standard library. oslo.config accepts any
callable as a type, and asks for its name and for its defaults as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rbd_volume_options import errors


class CheckedText:
    """A type whose values are checked by a parser and stored as text.

    oslo.config logs the value of an option when a service starts with debug
    enabled, and writes its default to configuration samples. Text shows both
    as they were written. Types with the same parser and name are equal,
    because glance_store registers the options of a store repeatedly, and
    oslo.config accepts a duplicate option only if it is equal.

    :param parser: checks a value; raises :class:`errors.OptionError` for an
        invalid value, and its result is ignored
    :param type_name: the name in samples and in the configuration reference
    """

    def __init__(self, parser: Callable[[str], Any], type_name: str) -> None:
        self.type_name = type_name
        self._parser = parser

    def __call__(self, value: Any) -> str:
        """Return the value as text.

        :raises ValueError: for an invalid value. The message has the reason
            and the allowed values, but not the key, because oslo.config
            names the option
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

    def format_defaults(
        self, default: Any, sample_default: Any = None
    ) -> list[str]:
        """Return the default for a sample; called by oslo.config."""
        shown = default if sample_default is None else sample_default
        return ['<None>' if shown is None else str(shown)]


def config_type(parser: Callable[[str], Any], type_name: str) -> Any:
    """Return a type for oslo.config, which declares a class of its own."""
    return CheckedText(parser, type_name)
