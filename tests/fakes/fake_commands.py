# SPDX-License-Identifier: Apache-2.0

"""A fake for the commands that the driver runs."""

import json
import os
from typing import Any

from oslo_concurrency import processutils

from tests import feature_bits
from tests.fakes import fake_images
from tests.fakes import fake_rados

_BITS = {
    'layering': fake_images.LAYERING,
    'exclusive-lock': fake_images.LOCK,
    'object-map': fake_images.OBJECT_MAP,
    'fast-diff': fake_images.FAST_DIFF,
    'deep-flatten': fake_images.DEEP_FLATTEN,
    'journaling': fake_images.JOURNALING,
}


class Commands:
    """A fake executor, which runs commands on the fake cluster.

    :ivar ran: the commands that were run
    """

    def __init__(self, cluster: fake_rados.Cluster) -> None:
        self._cluster = cluster
        self.ran: list[tuple[str, ...]] = []

    def __call__(self, *command: Any, **kwargs: Any) -> tuple[str, str]:
        """Run a command."""
        words = tuple(str(word) for word in command)
        self.ran.append(words)
        if words[:2] == ('rbd', 'import'):
            self._rbd_import(words[2:])
        elif words[:2] == ('qemu-img', 'create'):
            path, size = words[-2:]
            os.truncate(path, int(size.removesuffix('M')) << 20)
        elif words[:3] == ('ceph', 'mon', 'dump'):
            return json.dumps({'mons': [{'addr': '10.0.0.1:6789/0'}]}), ''
        return '', ''

    def imports(self) -> list[tuple[str, ...]]:
        """Return the ``rbd import`` commands that were run."""
        return [words for words in self.ran if words[:2] == ('rbd', 'import')]

    def _rbd_import(self, words: tuple[str, ...]) -> None:
        """Import an image; a fault can leave a partial image."""
        options, (path, name) = self._parsed(words)
        pool = options.get('--dest-pool') or options['--pool']
        try:
            self._cluster.reach('rbd import')
            with self._cluster.connected(pool[0]) as ioctx:
                images = ioctx.images('rbd import')
                if name in images:
                    raise fake_images.ImageExists('error creating image')
                images[name] = self._made(ioctx, path, name, options)
            self._cluster.reach('rbd import half-way')
        except fake_images.OSError as error:
            raise processutils.ProcessExecutionError(
                exit_code=error.errno, stderr=str(error), cmd=' '.join(words)
            ) from error

    def _parsed(
        self, words: tuple[str, ...]
    ) -> tuple[dict[str, list[str]], list[str]]:
        options: dict[str, list[str]] = {}
        plain = []
        rest = iter(words)
        for word in rest:
            if word in ('--new-format', '--image-format=2'):
                continue
            if word.startswith('--'):
                options.setdefault(word, []).append(next(rest))
            else:
                plain.append(word)
        return options, plain

    def _made(
        self,
        ioctx: fake_rados.Ioctx,
        path: str,
        name: str,
        options: dict[str, list[str]],
    ) -> fake_images.StoredImage:
        def number(option: str) -> int:
            return int(options.get(option, ['0'])[0].removesuffix('B'))

        default = self._cluster.config.get('rbd_default_features')
        features = int(default or feature_bits.DEFAULT)
        if '--image-feature' in options:
            features = sum(_BITS[f] for f in options['--image-feature'])
        order = number('--order')
        if '--object-size' in options:
            order = number('--object-size').bit_length() - 1
        requested = {
            'order': order,
            'stripe_unit': number('--stripe-unit'),
            'stripe_count': number('--stripe-count'),
            'features': features,
        }
        data_pool = options.get('--data-pool', [None])[0]
        return fake_images.make(
            name,
            os.path.getsize(path),
            requested,
            (0, 0, 0),
            fake_images.data_pool_number(ioctx, data_pool),
        )
