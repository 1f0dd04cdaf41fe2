# SPDX-License-Identifier: Apache-2.0

"""A client that has images open and writes to them, as a guest does.

It writes until there is a file ``stop`` in its working directory, and then
writes the SHA-256 of each image, as it must be, to the file ``sums``. It fails
if it reads anything else than it wrote, or loses a lock.
"""

import hashlib
import pathlib
import random
import sys
import time

import rados
import rbd

_BLOCK = 4096


def main(conf: str, mode: str, *names: str) -> None:
    """Write to images, or only hold them open if the mode is ``idle``."""
    cluster = rados.Rados(conffile=conf, rados_id='admin')
    cluster.connect()
    ioctx = cluster.open_ioctx('volumes')
    images = {name: rbd.Image(ioctx, name) for name in names}
    shadows = {
        name: bytearray(image.read(0, image.size()))
        for name, image in images.items()
    }
    while not pathlib.Path('stop').exists():
        for name, image in images.items():
            if mode == 'writes':
                _write(image, shadows[name])
        pathlib.Path('ready').touch()
        time.sleep(0.002)
    lines = []
    for name, image in images.items():
        if mode == 'writes':
            _check(image, shadows[name])
        image.close()
        lines.append(f'{name} {hashlib.sha256(shadows[name]).hexdigest()}')
    # Renamed, so that the reader sees the whole content.
    written = pathlib.Path('sums.written')
    written.write_text('\n'.join(lines))
    written.rename('sums')


def _write(image: rbd.Image, shadow: bytearray) -> None:
    at = random.randrange(len(shadow) // _BLOCK) * _BLOCK
    data = random.randbytes(_BLOCK)
    image.write(data, at)
    shadow[at : at + _BLOCK] = data
    if not image.is_exclusive_lock_owner():
        raise AssertionError('the lock was taken')


def _check(image: rbd.Image, shadow: bytearray) -> None:
    if image.read(0, len(shadow)) != bytes(shadow):
        raise AssertionError('the content is not what was written')


if __name__ == '__main__':
    main(*sys.argv[1:])
