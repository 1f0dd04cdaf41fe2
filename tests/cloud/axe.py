# SPDX-License-Identifier: Apache-2.0

"""The script of axe-core, which checks pages for accessibility."""

import base64
import functools
import hashlib
import io
import json
import pathlib
import tarfile
from urllib import request

from sandbox_cloud import venvs
from tests import tree

_LOCK = pathlib.Path(tree.ROOT, 'tests', 'javascript', 'package-lock.json')
# Read before any test: each test gets a temporary home directory.
_CACHE = venvs.cache()
_URL = 'https://registry.npmjs.org/axe-core/-/axe-core-{version}.tgz'


@functools.cache
def script() -> str:
    """Return the script in the version of package-lock.json.

    It is not read from node_modules: the JavaScript tests, which run in
    parallel, empty that folder.
    """
    locked = json.loads(_LOCK.read_text())['packages']['node_modules/axe-core']
    version = locked['version']
    kept = _CACHE / f'axe-core-{version}.js'
    if not kept.exists():
        url = _URL.format(version=version)
        data = request.urlopen(url, timeout=60).read()  # noqa: S310 - constant
        digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
        if f'sha512-{digest}' != locked['integrity']:
            raise ValueError(f'axe-core {version}: not the locked content')
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            member = archive.extractfile('package/axe.min.js')
            if member is None:
                raise ValueError(f'axe-core {version}: no axe.min.js')
            kept.write_bytes(member.read())
    return kept.read_text(encoding='utf-8')
