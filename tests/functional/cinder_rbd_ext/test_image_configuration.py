# SPDX-License-Identifier: Apache-2.0

"""Configuration of images that follows the keys, on a real cluster."""

import contextlib
import json
import time
from typing import Any

from cinder import objects
from cinder.db import api as db
import ddt
from oslo_utils import units

from cinder_rbd_ext import record
from cinder_rbd_ext.imaging import configuration
from rbd_volume_options import keys
from rbd_volume_options import wire
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_paths

_HINT = {keys.COMPRESSION_HINT: 'compressible'}
_ENTRY = 'conf_rbd_compression_hint'
_FOREIGN = {'conf_rbd_readahead_max_bytes': '4096', 'owner': 'somebody'}
# A path with two LUKS headers, which take seconds by design.
_PATHS = tuple(
    path
    for path in creation_paths.ALL
    if path is not creation_paths.ImportToEncrypted
)


class ConfigurationTestCase(base.DriverTestCase):
    """Volumes, and the entries of their images."""

    def entries(self, volume: Any) -> dict[str, str]:
        """Return the ``conf_`` entries of a volume's image."""
        with self.cluster.image(volume.name, read_only=True) as image:
            return {
                name: value
                for name, value in image.metadata_list()
                if name.startswith('conf_')
            }

    def change(self, volume: Any, metadata: dict[str, str]) -> None:
        """Replace the metadata of a volume, as the API does."""
        db.volume_metadata_update(self.admin, volume.id, metadata, True)
        record.accepted(volume.id, metadata)
        self.driver.remove_export(self.context, volume)

    def available(self, volume: Any) -> Any:
        """Return a volume with the status that it has after its creation."""
        current = objects.Volume.get_by_id(self.admin, volume.id)
        current.status = 'available'
        current.save()
        return current


@ddt.ddt
class ImageConfigurationTest(ConfigurationTestCase):
    """The entries follow the keys, and nobody else's are changed."""

    @ddt.data(*_PATHS)
    def test_each_way_of_creation_sets_the_entry(
        self, path_class: type[creation_paths.Path]
    ) -> None:
        path = path_class(self)
        path.prepare()
        volume = path.new_volume(metadata=_HINT)
        path.make(volume, self.driver)
        self.assertEqual({_ENTRY: 'compressible'}, self.entries(volume))
        self.assertEqual(
            'compressible', self.recorded(volume)[keys.COMPRESSION_HINT]
        )

    @ddt.data(
        creation_paths.CloneVolume,
        creation_paths.CloneFromSnapshot,
        creation_paths.FullCopy,
    )
    def test_entry_of_the_source_is_not_inherited(
        self, path_class: type[creation_paths.Path]
    ) -> None:
        path: Any = path_class(self)
        path.source_metadata = _HINT
        path.prepare()
        self.assertIn(_ENTRY, self.entries(path.source))
        volume = path.new_volume()
        path.make(volume, self.driver)
        self.assertEqual({}, self.entries(volume))
        self.assertNotIn(keys.COMPRESSION_HINT, self.recorded(volume))

    def test_change_sets_replaces_and_removes_only_its_entry(self) -> None:
        volume = self.available(self.made_volume())
        with self.cluster.image(volume.name) as image:
            for name, value in _FOREIGN.items():
                image.metadata_set(name, value)
        rest = {'conf_rbd_readahead_max_bytes': '4096'}
        for hint in ('compressible', 'incompressible'):
            self.change(volume, {keys.COMPRESSION_HINT: hint})
            self.assertEqual({_ENTRY: hint, **rest}, self.entries(volume))
            self.assertEqual(
                hint, self.recorded(volume)[keys.COMPRESSION_HINT]
            )
        self.change(volume, {})
        self.assertEqual(rest, self.entries(volume))
        self.assertNotIn(keys.COMPRESSION_HINT, self.recorded(volume))
        with self.cluster.image(volume.name, read_only=True) as image:
            self.assertEqual('somebody', image.metadata_get('owner'))

    def test_entry_of_an_operator_is_left_alone(self) -> None:
        volume = self.available(self.made_volume())
        with self.cluster.image(volume.name) as image:
            image.metadata_set(_ENTRY, 'incompressible')
        self.change(volume, {'a': 'b'})
        self.assertEqual({_ENTRY: 'incompressible'}, self.entries(volume))

    def test_retype_replaces_the_entry_in_place(self) -> None:
        text = self.make_type(rbd_compression_hint='compressible')
        volume = self.available(self.made_volume(type_id=text))
        with self.cluster.image(volume.name) as image:
            ident = image.id()
        for hint in ('incompressible', None):
            specs = {'rbd_compression_hint': hint} if hint else {}
            new_type = objects.VolumeType.get_by_id(
                self.admin, self.make_type(**specs)
            )
            volume.status = 'retyping'
            volume.save()
            retyped, _ = self.driver.retype(
                self.admin, volume, new_type, {}, None
            )
            self.assertTrue(retyped)
            self.assertEqual(
                {_ENTRY: hint} if hint else {}, self.entries(volume)
            )
            volume.volume_type_id = new_type.id
            self.available(volume)
        with self.cluster.image(volume.name) as image:
            self.assertEqual(ident, image.id())

    def test_key_set_past_the_api_takes_effect_if_tenants_may(self) -> None:
        free = self.available(self.made_volume())
        kept = self.available(
            self.made_volume(type_id=self.make_type(rbd_tenant_options=''))
        )
        for volume in (free, kept):
            db.volume_metadata_update(self.admin, volume.id, _HINT, False)
            self.driver.remove_export(self.context, volume)
        self.assertEqual({_ENTRY: 'compressible'}, self.entries(free))
        self.assertEqual({}, self.entries(kept))

    def test_interrupted_change_is_repeated(self) -> None:
        """Killed after the image was changed, before the record."""
        volume = self.available(self.made_volume())
        record.configuring(volume.id)
        with self.cluster.image(volume.name) as image:
            configuration.change(image, _HINT)
        self.driver.remove_export(self.context, volume)
        self.assertEqual({}, self.entries(volume))
        self.assertNotIn(wire.RECORD_CONFIGURING, self.recorded(volume))

    def test_failure_does_not_fail_a_detachment(self) -> None:
        volume = self.available(self.made_volume())
        self.cluster.rados.get_fsid()
        with self.cluster.image(volume.name) as image:
            ident = image.id()
        ioctx = self.cluster.ioctx()
        data = ioctx.read(f'rbd_id.{volume.name}')
        ioctx.remove_object(f'rbd_id.{volume.name}')
        try:
            self.change(volume, _HINT)
        finally:
            ioctx.write_full(f'rbd_id.{volume.name}', data)
        self.driver.remove_export(self.context, volume)
        self.assertEqual({_ENTRY: 'compressible'}, self.entries(volume))
        with self.cluster.image(volume.name) as image:
            self.assertEqual(ident, image.id())


class CompressionTest(ConfigurationTestCase):
    """The hint compresses what a client that is running writes."""

    def setUp(self) -> None:
        super().setUp()
        self._pool('compression_algorithm', 'snappy')
        self.addCleanup(self._pool, 'compression_mode', 'none')

    def _pool(self, name: str, value: str) -> None:
        self.cluster.daemons.command(
            'osd', 'pool', 'set', 'volumes', name, value
        )

    def _compressed(self) -> int:
        """Return how many bytes the OSDs have compressed."""
        command = self.cluster.daemons.command
        return sum(
            value
            for number in json.loads(command('osd', 'ls', '-f', 'json'))
            for name, value in json.loads(
                command('tell', f'osd.{number}', 'perf', 'dump', 'bluestore')
            )['bluestore'].items()
            # Ceph 16 has a prefix.
            if name.endswith('compressed_original')
        )

    def _is_compressed(self, image: Any, number: int) -> bool:
        before = self._compressed()
        image.write(b'text' * units.Mi, number * 4 * units.Mi)
        image.flush()
        return self._compressed() > before

    def test_hint_takes_effect_while_the_volume_is_in_use(self) -> None:
        volume = self.available(self.made_volume())
        with contextlib.closing(self.cluster.image(volume.name)) as image:
            for number, (mode, hint, wanted) in enumerate(
                (
                    ('passive', None, False),
                    ('passive', 'compressible', True),
                    ('passive', None, False),
                    ('aggressive', None, True),
                    ('aggressive', 'incompressible', False),
                    ('force', 'incompressible', True),
                    ('none', 'compressible', False),
                )
            ):
                self._pool('compression_mode', mode)
                self.change(
                    volume, {keys.COMPRESSION_HINT: hint} if hint else {}
                )
                # The client reads the change when it is notified.
                time.sleep(0.5)
                self.assertIs(
                    wanted, self._is_compressed(image, number), (mode, hint)
                )
