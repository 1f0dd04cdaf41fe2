# SPDX-License-Identifier: Apache-2.0

"""Reads configuration files of services without their code."""

from collections.abc import Iterable
import pathlib

from oslo_config import cfg

DEFAULT = 'DEFAULT'
#: Where Cinder, and glance_store since 5.0, look for the options that the
#: section of a back end or store does not set.
SHARED = 'backend_defaults'
_TRUE = frozenset({'true', '1', 'on', 'yes'})


class Configuration:
    """The values in configuration files; later files override earlier ones.

    :param paths: of the files
    :raises ValueError: if one cannot be read or parsed
    """

    def __init__(self, paths: Iterable[pathlib.Path]) -> None:
        self.paths = tuple(paths)
        self._sections: dict[str, dict[str, list[str]]] = {}
        # The sections of Cinder's back ends, or of Glance's stores.
        self._back_ends: frozenset[str] = frozenset()
        for path in self.paths:
            parsed: dict[str, dict[str, list[str]]] = {}
            try:
                cfg.ConfigParser(str(path), parsed).parse()
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f'Cannot read {path}: {error}') from error
            except cfg.ParseError as error:
                # The text of the error has the line, which may be a password.
                raise ValueError(
                    f'Cannot read {path}: line {error.lineno}: {error.msg}'
                ) from None
            for section, values in parsed.items():
                self._sections.setdefault(section, {}).update(values)
        self._back_ends = frozenset(
            each.partition(':')[0].strip()
            for each in self.list(DEFAULT, 'enabled_backends')
        )

    def __str__(self) -> str:
        return ', '.join(str(path) for path in self.paths)

    def sections(self) -> tuple[str, ...]:
        """Return the names of the sections."""
        return tuple(self._sections)

    def names(self, section: str) -> tuple[str, ...]:
        """Return the names of the options that a section sets."""
        return tuple(self._sections.get(section, ()))

    def all(self, section: str, name: str) -> tuple[str, ...]:
        """Return the values of an option that can be repeated."""
        values = self._sections.get(section, {}).get(name)
        if values is None and section in self._back_ends:
            values = self._sections.get(SHARED, {}).get(name)
        return tuple(values or ())

    def get(self, section: str, name: str, default: str = '') -> str:
        """Return the value of an option."""
        values = self.all(section, name)
        return values[-1].strip() if values else default

    def list(self, section: str, name: str) -> tuple[str, ...]:
        """Return the values of a comma-separated option."""
        parts = self.get(section, name).split(',')
        return tuple(part.strip() for part in parts if part.strip())

    def is_true(self, section: str, name: str, default: bool) -> bool:
        """Return the value of a boolean option."""
        value = self.get(section, name)
        return value.lower() in _TRUE if value else default
