# SPDX-License-Identifier: Apache-2.0

"""Objects of librbd's Python module that the driver wraps."""

from typing import Any


class Delegate:
    """An object that passes all attributes through to a wrapped object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)
