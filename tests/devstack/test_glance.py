# SPDX-License-Identifier: Apache-2.0

"""Test devstack/lib/glance: the store and the metadata definitions."""

from tests import tree
from tests.devstack import base
from tests.devstack import scratch


class GlanceTest(base.DevStackTestCase):
    conf = 'etc/glance/glance-api.conf'

    def test_several_stores(self) -> None:
        self.tree.check('stack', 'post-config')
        text = self.tree.read(self.conf)
        self.assertIn(
            'enabled_backends = robust_rbd:rbd_objmap,fast:file\n', text
        )
        self.assertIn('default_backend = robust_rbd\n', text)
        self.assertIn('[robust_rbd]\nrbd_store_object_map = True\n', text)

    def test_spaces_and_several_of_the_type(self) -> None:
        text = scratch.SEVERAL_STORES.replace(
            'robust_rbd:rbd,fast:file', 'a:rbd, b:file, c: rbd'
        )
        self.tree.write(self.conf, text)
        self.tree.check('stack', 'post-config')
        self.assertIn(
            'enabled_backends = a:rbd_objmap, b:file, c: rbd_objmap\n',
            self.tree.read(self.conf),
        )

    def test_devstack_is_asked_for_several_stores(self) -> None:
        name = 'GLANCE_ENABLE_MULTIPLE_STORES'
        for value, environ in (
            ('True', {}),
            ('False', {name: 'False'}),
            ('', {'RBD_VOLUME_OPTIONS_GLANCE': 'no'}),
        ):
            self.tree.check('stack', 'pre-install', **environ)
            self.assertEqual(f'{name}={value}', self.tree.calls()[-1])

    def test_one_store_is_refused(self) -> None:
        self.tree.write(self.conf, scratch.ONE_STORE)
        done = self.tree.run('stack', 'post-config')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('GLANCE_ENABLE_MULTIPLE_STORES=True', done.stdout)
        self.assertEqual(scratch.ONE_STORE, self.tree.read(self.conf))

    def test_no_ceph_for_glance(self) -> None:
        self.tree.write(self.conf, scratch.ONE_STORE)
        self.tree.check('stack', 'post-config', ENABLE_CEPH_GLANCE='False')
        self.assertEqual(scratch.ONE_STORE, self.tree.read(self.conf))

    def test_metadata_definitions(self) -> None:
        self.tree.check('stack', 'post-config')
        conf = self.tree.root / self.conf
        self.assertIn(
            f'glance-manage --config-file {conf} db_load_metadefs '
            f'{tree.ROOT}/etc/metadefs',
            self.tree.calls(),
        )

    def test_no_rbd_store(self) -> None:
        text = scratch.SEVERAL_STORES.replace(':rbd', ':cinder')
        self.tree.write(self.conf, text)
        done = self.tree.run('stack', 'post-config')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('RBD_VOLUME_OPTIONS_GLANCE=False', done.stdout)
