# SPDX-License-Identifier: Apache-2.0

"""Configuration of images that follows the keys, on a real cluster."""

import contextlib
import json
import time
from typing import Any

from cinder import objects
from cinder.db import api as db
from cinder.volume import qos_specs
import ddt
from oslo_utils import units

from cinder_rbd_ext import record
from rbd_volume_options import image_configuration
from rbd_volume_options import keys
from rbd_volume_options import volume_items
from tests import runs
from tests.functional.cinder_rbd_ext import base
from tests.functional.cinder_rbd_ext import creation_paths

_HINT = {keys.COMPRESSION_HINT: 'compressible'}
_ENTRY = 'conf_rbd_compression_hint'
_FOREIGN = {'conf_rbd_readahead_max_bytes': '4096', 'owner': 'somebody'}
# The last path has two LUKS headers, which take seconds by design.
_PATHS = creation_paths.WITH_PROGRAMS[:-1]


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

    @runs.nightly_after(3)
    @ddt.data(*_PATHS)
    def test_each_way_of_creation_sets_the_entry(
        self, path_class: type[creation_paths.Path]
    ) -> None:
        path = path_class(self, metadata=_HINT)
        volume = path.volume
        self.update(volume, path.make())
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
        path: Any = path_class(self, source_metadata=_HINT)
        self.assertIn(_ENTRY, self.entries(path.source))
        volume = path.volume
        self.update(volume, path.make())
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
        volume = self.available(self.made_volume(volume_type=text))
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
            volume = self.available(volume)
        with self.cluster.image(volume.name) as image:
            self.assertEqual(ident, image.id())

    def test_key_set_past_the_api_takes_effect_if_tenants_may(self) -> None:
        free = self.available(self.made_volume())
        kept = self.available(
            self.made_volume(volume_type=self.make_type(rbd_tenant_options=''))
        )
        for volume in (free, kept):
            db.volume_metadata_update(self.admin, volume.id, _HINT, False)
            self.driver.remove_export(self.context, volume)
        self.assertEqual({_ENTRY: 'compressible'}, self.entries(free))
        self.assertEqual({}, self.entries(kept))

    def test_interrupted_change_is_repeated(self) -> None:
        """Killed after the image was changed, before the record."""
        volume = self.available(self.made_volume())
        record.configuring(volume.id, {'compression_hint'})
        with self.cluster.image(volume.name) as image:
            image_configuration.change(image, _HINT)
        self.driver.remove_export(self.context, volume)
        self.assertEqual({}, self.entries(volume))
        self.assertNotIn(
            volume_items.RECORD_CONFIGURING, self.recorded(volume)
        )

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


class LimitsTest(ConfigurationTestCase):
    """Limits on reads and writes, from the keys and the size of a volume."""

    def limits(self, volume: Any) -> dict[str, str]:
        """Return the limits of a volume's image, by librbd's names."""
        return {
            name.removeprefix('conf_rbd_qos_'): value
            for name, value in self.entries(volume).items()
        }

    def _retyped(self, volume: Any, type_id: str, diff: Any = None) -> Any:
        new_type = objects.VolumeType.get_by_id(self.admin, type_id)
        volume.status = 'retyping'
        volume.save()
        retyped, _ = self.driver.retype(
            self.admin, volume, new_type, diff or {}, None
        )
        self.assertTrue(retyped)
        volume.volume_type_id = type_id
        return self.available(volume)

    def _with_qos(self, type_id: str, **specs: str) -> str:
        made = qos_specs.create(
            self.admin, f'qos-of-{type_id}', {'consumer': 'back-end', **specs}
        )
        qos_specs.associate_qos_with_type(self.admin, made.id, type_id)
        return type_id

    def test_limit_follows_the_size_of_the_volume(self) -> None:
        by_size = self.make_type(
            rbd_iops_limit_per_gib='30',
            rbd_iops_limit_minimum='100',
            rbd_bps_limit_per_gib='1M',
        )
        volume = self.available(self.made_volume(volume_type=by_size))
        self.assertEqual(
            {'iops_limit': '100', 'bps_limit': '1048576'}, self.limits(volume)
        )
        self.driver.extend_volume(volume, 4)
        self.assertEqual(
            {'iops_limit': '120', 'bps_limit': '4194304'}, self.limits(volume)
        )
        self.assertEqual('120', self.recorded(volume)['rbd:iops_limit'])

    def test_qos_specs_apply_where_no_key_does(self) -> None:
        """A key replaces the limit of the same kind, and leaves the others."""
        both = self._with_qos(
            self.make_type(),
            total_iops_sec='500',
            total_iops_sec_max='600',
            read_bytes_sec='1000000',
        )
        stock = {
            'iops_limit': '500',
            'iops_burst': '600',
            'read_bps_limit': '1000000',
        }
        volume = self.available(self.made_volume(volume_type=both))
        self.assertEqual(stock, self.limits(volume))
        self.change(volume, {'rbd:iops_limit': '200'})
        self.assertEqual(
            {'iops_limit': '200', 'read_bps_limit': '1000000'},
            self.limits(volume),
        )
        clone = self.new_volume({'rbd:iops_limit': '300'}, both)
        self.update(clone, self.driver.create_cloned_volume(clone, volume))
        self.assertEqual(
            {'iops_limit': '300', 'read_bps_limit': '1000000'},
            self.limits(clone),
        )
        self.change(volume, {})
        self.assertEqual(stock, self.limits(volume))

    def test_retype_replaces_limits_of_keys_and_of_qos_specs(self) -> None:
        ours = self.make_type(rbd_iops_limit='100', rbd_iops_burst='150')
        stock = self._with_qos(self.make_type(), total_iops_sec='500')
        both = self._with_qos(
            self.make_type(rbd_iops_limit='300'), total_iops_sec='500'
        )
        volume = self.available(self.made_volume(volume_type=ours))
        for type_id, diff, wanted in (
            (both, (None, '500'), {'iops_limit': '300'}),
            (stock, ('500', '500'), {'iops_limit': '500'}),
            (
                ours,
                ('500', None),
                {'iops_limit': '100', 'iops_burst': '150'},
            ),
            (self.make_type(), None, {}),
        ):
            consumer = {'consumer': ('back-end', 'back-end')}
            changed = {**consumer, 'total_iops_sec': diff} if diff else {}
            volume = self._retyped(volume, type_id, {'qos_specs': changed})
            self.assertEqual(wanted, self.limits(volume))

    def test_volume_without_limits_inherits_none(self) -> None:
        # High enough for the full copy, which librbd limits too.
        limits = {'rbd:iops_limit': '10000', 'rbd:bps_limit': '10G'}
        source = self.available(self.made_volume(limits))
        self.assertEqual(2, len(self.limits(source)))
        for clone in (self.new_volume(), self.new_volume()):
            self.update(clone, self.driver.create_cloned_volume(clone, source))
            self.assertEqual({}, self.limits(clone))
            self.driver.configuration.rbd_max_clone_depth = 0

    def _seconds_of_writes(self, image: Any, number: int) -> float:
        """Return how long writes take that are sent at the same time."""
        began = time.monotonic()
        sent = [
            image.aio_write(b'a' * 512, each * 512, lambda _: None)
            for each in range(number)
        ]
        for each in sent:
            each.wait_for_complete_and_cb()
        return time.monotonic() - began

    def test_limit_takes_effect_while_the_volume_is_in_use(self) -> None:
        """After a second without load, twice the limit is possible at once."""
        volume = self.available(self.made_volume())
        with contextlib.closing(self.cluster.image(volume.name)) as image:
            image.write(b'a' * units.Mi, 0)
            self.change(volume, {'rbd:write_iops_limit': '20'})
            time.sleep(0.5)
            # The first request after the change makes librbd read it.
            image.write(b'a', 0)
            self.assertGreater(self._seconds_of_writes(image, 100), 2)


# BlueStore's counters after a minute of writing.
@runs.tags(runs.NIGHTLY)
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
