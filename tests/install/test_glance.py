# SPDX-License-Identifier: Apache-2.0
"""Test an installation for Glance only, with a store on real Ceph."""

import contextlib
import json
import sqlite3
from typing import ClassVar

from tests import runs
from tests.functional import ceph
from tests.install import base
from tests.install import pages

_CONF = """\
[DEFAULT]
transport_url = fake://
[glance_store]
default_backend = ceph
[ceph]
rbd_store_pool = images
rbd_store_user = admin
rbd_store_ceph_conf = {ceph_conf}
[os_glance_tasks_store]
filesystem_store_datadir = {folder}/tasks
[os_glance_staging_store]
filesystem_store_datadir = {folder}/staging
[database]
connection = sqlite:///{folder}/glance.sqlite
[oslo_concurrency]
lock_path = {folder}
[paste_deploy]
config_file = {venv}/etc/glance/glance-api-paste.ini
"""
# The configuration that the page gives for reverting.
_STOCK = """\
[DEFAULT]
enabled_backends = ceph:rbd
"""

_NAMESPACE = 'OS::Cinder::RBDVolumeOptions'

# Loads the API as a web server does in all releases, and shows the class of
# its store.
_STORE = """
from glance.common import wsgi_app
status, body = get(wsgi_app.init_app(), '/v2/info/stores')
import glance_store
store = glance_store.get_store_from_store_identifier('ceph')
show([status, body, type(store).__module__])
"""


# The part packages starts the same service of Debian.
@runs.tags(runs.NIGHTLY)
class GlanceTest(base.InstallTestCase):
    service: ClassVar[str] = 'glance'
    ours: ClassVar[tuple[str, ...]] = (
        *('glance_store_objmap', 'rbd_volume_options'),
    )
    page: ClassVar[str] = 'image.rst'
    # Whether the installation also loads the metadata definitions.
    loads_metadefs: ClassVar[bool] = True

    def setUp(self) -> None:
        super().setUp()
        conf = _CONF.format(
            folder=self.folder,
            venv=self.fresh.path,
            ceph_conf=ceph.shared_cluster().conf,
        )
        for name in ('tasks', 'staging'):
            (self.folder / name).mkdir()
        self.write(
            'suite/glance-api.conf', conf, pages.configuration(self.page)
        )
        self.write('stock/glance-api.conf', conf, _STOCK)
        # Where the page's command finds its configuration.
        self.write('.glance/glance-manage.conf', conf, _STOCK)

    def _store(self, which: str, *ours: str) -> str:
        """Start the API; return the module of its store."""
        status, body, module = self.probe(
            _STORE,
            ours=ours,
            OS_GLANCE_CONFIG_DIR=str(self.folder / which),
        )
        self.assertEqual('200 OK', status, body)
        (store,) = json.loads(body)['stores']
        self.assertEqual('ceph', store['id'])
        return str(module)

    def _namespaces(self) -> list[str]:
        """Return the namespaces of metadata definitions in the database."""
        path = self.folder / 'glance.sqlite'
        with contextlib.closing(sqlite3.connect(path)) as database:
            rows = database.execute('SELECT namespace FROM metadef_namespaces')
            return [str(name) for (name,) in rows]

    def test_glance_runs_alone_with_the_suite_and_without(self) -> None:
        self.check_nothing_else()
        self.check_extra()
        # The Glance of an operator already has a database.
        home = {'HOME': str(self.folder)}
        self.fresh.execute('glance-manage', 'db_sync', **home)
        self.install_as_documented(**home)
        loaded = _NAMESPACE in self._namespaces()
        self.assertIs(self.loads_metadefs, loaded)
        self.assertEqual(
            'glance_store_objmap.store', self._store('suite', *self.ours)
        )
        self.uninstall()
        self.assertEqual('glance_store._drivers.rbd', self._store('stock'))
