# SPDX-License-Identifier: Apache-2.0

import ddt

from rbd_volume_options import errors
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import request
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

Origin = errors.Origin
_MIB = 1 << 20


def _request(
    metadata: dict[str, str] | None = None,
    specs: dict[str, str] | None = None,
    **backend: str,
) -> request.Request:
    volume = cinder_objects.volume(metadata)
    return request.read_request(
        request.metadata_of(volume),
        request.specs_of(cinder_objects.volume_type(**(specs or {}))),
        cinder_objects.settings(**backend),
    )


class OfVolumeTest(base.TestCase):
    def test_three_levels(self) -> None:
        requested = _request(
            {'rbd:object_size': '1M', 'purpose': 'x'},
            {'rbd_object_size': '2M', 'replication': 'y'},
            rbd_volume_object_size='8M',
        )
        self.assertEqual(
            [
                (Origin.VOLUME_METADATA, _MIB),
                (Origin.VOLUME_TYPE, 2 * _MIB),
                (Origin.BACKEND, 8 * _MIB),
            ],
            [
                (
                    level.origin(keys.OBJECT_SIZE),
                    level[keys.OBJECT_SIZE],
                )
                for level in requested.levels
            ],
        )
        self.assertFalse(requested.multiattach)
        self.assertFalse(requested.replicated)

    def test_neither_metadata_nor_type(self) -> None:
        volume = cinder_objects.volume()
        volume.metadata = {}
        requested = request.read_request({}, {}, cinder_objects.settings())
        self.assertEqual(options.Values(), requested.resolve())
        self.assertEqual({}, request.metadata_of(volume))
        self.assertEqual({}, request.specs_of(None))

    def test_type_it_is_about_to_get(self) -> None:
        volume = cinder_objects.volume(
            {}, cinder_objects.volume_type(rbd_object_size='1M')
        )
        requested = request.read_request(
            request.metadata_of(volume),
            {'rbd:object_size': '2M'},
            cinder_objects.settings(),
        )
        self.assertEqual(
            options.Choice(2 * _MIB, Origin.VOLUME_TYPE),
            requested.resolve().choice(keys.OBJECT_SIZE),
        )


@ddt.ddt
class TypeTest(base.TestCase):
    def test_values_know_whether_the_type_is_multiattach(self) -> None:
        """The number of objects that is allowed depends on it."""
        for specs, multiattach in (
            ({}, False),
            ({'multiattach': '<is> True'}, True),
        ):
            resolved = request.read_request(
                {}, specs, cinder_objects.settings()
            ).resolve()
            self.assertIs(multiattach, resolved.multiattach)

    @ddt.data(
        ('<is> True', True),
        ('<is> False', False),
        ('true', False),
        ('', False),
    )
    @ddt.unpack
    def test_flags_are_parsed_like_stock(self, value: str, flag: bool) -> None:
        """Flags are parsed exactly as by the stock driver."""
        self.assertIs(flag, _request(specs={'multiattach': value}).multiattach)
        self.assertIs(
            flag, _request(specs={'replication_enabled': value}).replicated
        )

    @ddt.data('multiattach', 'replication_enabled')
    def test_contradiction_is_found(self, flag: str) -> None:
        requested = _request(
            {'rbd:features': 'layering,exclusive-lock'}, {flag: '<is> True'}
        )
        error = self.assertRaises(errors.OptionError, requested.resolve)
        self.assertEqual('rbd:features', error.key)

    def test_tenant_keys_of_the_type(self) -> None:
        for specs in ({'rbd_tenant_options': 'rbd:object_map'}, {}):
            error = self.assertRaises(
                errors.OptionError,
                _request,
                {'rbd:object_size': '1M'},
                specs,
                rbd_tenant_options='rbd:object_map',
            )
            self.assertEqual('rbd:object_size', error.key)
            self.assertEqual('rbd:object_map', error.allowed)
        requested = _request(
            {'rbd:object_size': '1M'},
            {'rbd_tenant_options': 'rbd:object_size'},
            rbd_tenant_options='',
        )
        self.assertEqual(_MIB, requested.levels[0][keys.OBJECT_SIZE])

    def test_type_that_leaves_tenants_nothing(self) -> None:
        self.assertRaises(
            errors.OptionError,
            _request,
            {'rbd:object_size': '1M'},
            {'rbd_tenant_options': ''},
        )

    def test_what_tenants_write_is_read_first(self) -> None:
        """An unknown key is reported even if tenants may set no keys."""
        error = self.assertRaises(
            errors.OptionError,
            _request,
            {'rbd:objectsize': '1M'},
            rbd_tenant_options='',
        )
        self.assertEqual('unknown key', error.reason)

    @ddt.data(
        ({'rbd:cache_mode': 'unsafe'}, {}, Origin.VOLUME_METADATA),
        ({}, {'rbd_cache_mode': 'unsafe'}, Origin.VOLUME_TYPE),
    )
    @ddt.unpack
    def test_mode_that_is_not_listed(
        self, metadata: dict[str, str], specs: dict[str, str], origin: Origin
    ) -> None:
        error = self.assertRaises(
            errors.OptionError, _request, metadata, specs
        )
        self.assertEqual(('rbd:cache_mode', origin), (error.key, error.origin))
        _request(metadata, specs, rbd_allowed_cache_modes='unsafe')


class ResolveTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.request = _request(
            {'rbd:object_map': 'true'}, rbd_volume_object_size='8M'
        )
        self.source = inheritance.level_of(
            Origin.SOURCE_VOLUME,
            options.image_values(
                layout.ImageLayout(2 * _MIB, layout.Striping(_MIB, 2)),
                frozenset({'layering', 'striping'}),
                'data',
            ),
        )

    def test_with_the_backend(self) -> None:
        self.assertEqual(
            options.Choice(8 * _MIB, Origin.BACKEND),
            self.request.resolve().choice(keys.OBJECT_SIZE),
        )

    def test_without_the_backend(self) -> None:
        resolved = self.request.resolve(backend_too=False)
        self.assertNotIn(keys.OBJECT_SIZE, resolved)
        self.assertIn(keys.OBJECT_MAP, resolved)

    def test_source_over_the_backend(self) -> None:
        resolved = self.request.resolve(self.source)
        self.assertEqual(
            (2 * _MIB, layout.Striping(_MIB, 2), None, {'layering'}),
            (
                resolved[keys.OBJECT_SIZE],
                resolved[keys.STRIPING],
                resolved.data_pool,
                resolved.image_features,
            ),
        )
