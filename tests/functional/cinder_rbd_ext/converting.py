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


"""A process that converts an image, to be killed during the conversion.

It calls librbd like the driver, and writes a line before each step and for
each progress.
"""

import argparse
import sys
from typing import Any

import rados
import rbd

# The features of a new volume, with Ceph's defaults.
_FEATURES = (
    rbd.RBD_FEATURE_LAYERING
    | rbd.RBD_FEATURE_EXCLUSIVE_LOCK
    | rbd.RBD_FEATURE_OBJECT_MAP
    | rbd.RBD_FEATURE_FAST_DIFF
    | rbd.RBD_FEATURE_DEEP_FLATTEN
)


def _line(text: object) -> None:
    sys.stdout.write(f'{text}\n')
    sys.stdout.flush()


def _at(offset: int, total: int) -> int:
    _line(offset * 100 // total)
    return 0


def main() -> None:
    """Convert an image from 4 MiB objects to 64 KiB x 8."""
    parser = argparse.ArgumentParser()
    parser.add_argument('conf')
    parser.add_argument('name')
    given = parser.parse_args()
    client: Any = rados.Rados(conffile=given.conf, rados_id='admin')
    client.connect()
    ioctx, name = client.open_ioctx('volumes'), given.name
    api = rbd.RBD()
    _line('prepare')
    api.migration_prepare(
        ioctx,
        name,
        ioctx,
        name,
        features=_FEATURES,
        order=22,
        stripe_unit=65536,
        stripe_count=8,
    )
    _line('prepared')
    sys.stdin.readline()
    _line('execute')
    api.migration_execute(ioctx, name, on_progress=_at)
    _line('executed')
    sys.stdin.readline()
    _line('commit')
    api.migration_commit(ioctx, name, on_progress=_at)
    _line('committed')


if __name__ == '__main__':
    main()
