# SPDX-License-Identifier: Apache-2.0

"""Compressed values for the cache; memcached limits a value to 1 MiB."""

import json
from typing import Any
import zlib


def pack(value: Any) -> bytes:
    """Return JSON data in compressed form."""
    return zlib.compress(json.dumps(value).encode())


def unpack(packed: bytes) -> Any:
    """Return the data in a compressed value."""
    return json.loads(zlib.decompress(packed))
