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


class ResolveTest(base.TestCase):
    def test_values_of_metadata_type_back_end_and_source(self) -> None:
        source = inheritance.level_of(
            Origin.SOURCE_VOLUME,
            options.image_values(
                layout.ImageLayout(4 * _MIB, layout.Striping(_MIB, 2)),
                frozenset({'layering', 'striping'}),
                'data',
            ),
        )
        of_volume = {'rbd:object_size': '1M', 'purpose': 'x'}
        of_type = {'rbd_object_size': '2M', 'replication': 'y'}
        of_backend = {'rbd_volume_object_size': '8M'}
        for metadata, specs, more, size, origin in (
            (of_volume, of_type, [], 1, Origin.VOLUME_METADATA),
            ({}, of_type, [], 2, Origin.VOLUME_TYPE),
            ({}, {}, [source], 4, Origin.SOURCE_VOLUME),
            ({}, {}, [], 8, Origin.BACKEND),
        ):
            requested = _request(metadata, specs, **of_backend)
            self.assertEqual(
                options.Choice(size * _MIB, origin),
                requested.resolve(*more).choice(keys.OBJECT_SIZE),
            )
            # As for a change of an existing volume.
            own = requested.resolve(backend_too=False)
            self.assertIs(bool(metadata or specs), keys.OBJECT_SIZE in own)
        resolved = _request(of_volume, {}, **of_backend).resolve(source)
        self.assertEqual(
            (layout.Striping(_MIB, 2), None, {'layering'}),
            (
                resolved[keys.STRIPING],
                resolved.data_pool,
                resolved.image_features,
            ),
        )

    def test_neither_metadata_nor_type(self) -> None:
        volume = cinder_objects.volume()
        volume.metadata = {}
        requested = request.read_request({}, {}, cinder_objects.settings())
        self.assertEqual(options.Values(), requested.resolve())
        self.assertEqual({}, request.metadata_of(volume))
        self.assertEqual({}, request.specs_of(None))


@ddt.ddt
class TypeTest(base.TestCase):
    def test_flags_are_parsed_like_stock(self) -> None:
        """Flags are parsed exactly as by the stock driver."""
        for value in ('<is> True', '<is> False', 'true', ''):
            flag = value == '<is> True'
            shared = _request(specs={'multiattach': value})
            self.assertIs(flag, shared.multiattach)
            # The number of objects that is allowed depends on it.
            self.assertIs(flag, shared.resolve().multiattach)
            copied = _request(specs={'replication_enabled': value})
            self.assertIs(flag, copied.replicated)

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
