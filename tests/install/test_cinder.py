# SPDX-License-Identifier: Apache-2.0
"""Cinder alone: its API, and a volume service on a real Ceph cluster."""

import json
from typing import Any
from typing import ClassVar

from tests.functional import ceph
from tests.install import base
from tests.install import pages

_ALIAS = 'os-rbd-volume-options'

_CONF = """\
[DEFAULT]
transport_url = fake://
auth_strategy = noauth
state_path = {folder}
api_paste_config = {venv}/etc/cinder/api-paste.ini
enabled_backends = ceph
[ceph]
rbd_pool = volumes
rbd_user = admin
rbd_ceph_conf = {ceph_conf}
[database]
connection = sqlite:///{folder}/cinder.sqlite
[oslo_concurrency]
lock_path = {folder}
"""
# The configuration on the page for reverting to the stock driver.
_STOCK = """\
[ceph]
volume_driver = cinder.volume.drivers.rbd.RBDDriver
"""

# Load the API as a web server does, with the project of `noauth`.
_EXTENSIONS = """
from cinder.wsgi import api
show(get(api.application, '/v3/0/extensions', HTTP_X_AUTH_TOKEN='admin:0'))
"""


class CinderTest(base.InstallTestCase):
    service: ClassVar[str] = 'cinder'
    ours: ClassVar[tuple[str, ...]] = ('cinder_rbd_ext', 'rbd_volume_options')
    page: ClassVar[str] = 'block-storage.rst'

    def setUp(self) -> None:
        super().setUp()
        conf = _CONF.format(
            folder=self.folder,
            venv=self.fresh.path,
            ceph_conf=ceph.shared_cluster().conf,
        )
        self.with_suite = self.write(
            'suite.conf', conf, pages.configuration(self.page)
        )
        self.without = self.write('stock.conf', conf, _STOCK)

    def _manage(self, *words: str) -> None:
        manage = self.fresh.program('cinder-manage')
        self.fresh.execute(manage, '--config-file', self.without, *words)

    def _driver(self, conf: str) -> str:
        """Start cinder-volume; return the class of the volume driver."""
        log = self.log_of_start(
            *(self.fresh.program('cinder-volume'), '--config-file', conf),
            until='Driver initialization completed successfully',
        )
        _, _, after = log.partition('Starting volume driver ')
        return after.split()[0]

    def _extensions(self, conf: str, *ours: str) -> set[str]:
        status, body = self.probe(
            _EXTENSIONS, '--config-file', conf, ours=ours
        )
        self.assertEqual('200 OK', status, body)
        listed: list[dict[str, Any]] = json.loads(body)['extensions']
        return {each['alias'] for each in listed}

    def test_cinder_runs_alone_with_the_suite_and_without(self) -> None:
        self.check_nothing_else()
        self.check_extra()
        self.install_as_documented()
        self._manage('db', 'sync')
        self.assertEqual('RBDExtDriver', self._driver(self.with_suite))
        extensions = self._extensions(self.with_suite, *self.ours)
        self.assertIn(_ALIAS, extensions)
        self.uninstall()
        self.assertEqual('RBDDriver', self._driver(self.without))
        self.assertEqual(extensions - {_ALIAS}, self._extensions(self.without))
