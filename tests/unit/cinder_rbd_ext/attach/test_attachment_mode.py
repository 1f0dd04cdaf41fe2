# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from cinder_rbd_ext import backend_settings
from cinder_rbd_ext.attach import attachment_mode
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

CacheMode = cache_modes.CacheMode

#: Metadata, extra specs, options of the back end, and the expected mode.
_MODES: dict[
    str,
    tuple[dict[str, str], dict[str, str], dict[str, str], CacheMode | None],
] = {
    'nothing': ({}, {}, {}, None),
    'metadata': (
        {'rbd:cache_mode': 'writeback'},
        {'rbd_cache_mode': 'none'},
        {'rbd_volume_cache_mode': 'directsync'},
        CacheMode.WRITEBACK,
    ),
    'type': (
        {},
        {'rbd_cache_mode': 'none'},
        {'rbd_volume_cache_mode': 'directsync'},
        CacheMode.NONE,
    ),
    'backend': (
        {},
        {},
        {'rbd_volume_cache_mode': 'directsync'},
        CacheMode.DIRECTSYNC,
    ),
    'other_key_is_invalid': (
        {'rbd:cache_mode': 'none', 'rbd:stripe_unit': 'x'},
        {},
        {},
        CacheMode.NONE,
    ),
    'metadata_of_others': ({'purpose': 'x'}, {'qos': 'y'}, {}, None),
}


def _mode(
    volume: Any, settings: backend_settings.BackendSettings
) -> CacheMode | None:
    found = attachment_mode.asked(volume, settings)
    return found.mode if found else None


@ddt.ddt
class CacheModeTest(base.TestCase):
    @ddt.data(*_MODES)
    def test_mode_follows_precedence(self, case: str) -> None:
        metadata, specs, options, mode = _MODES[case]
        volume = cinder_objects.volume(
            metadata, cinder_objects.volume_type(**specs)
        )
        self.assertIs(mode, _mode(volume, cinder_objects.settings(**options)))

    @ddt.data(
        ('metadata', errors.Origin.VOLUME_METADATA),
        ('type', errors.Origin.VOLUME_TYPE),
        ('backend', errors.Origin.BACKEND),
    )
    @ddt.unpack
    def test_asked_mode_names_its_origin(
        self, case: str, origin: errors.Origin
    ) -> None:
        metadata, specs, options, _ = _MODES[case]
        volume = cinder_objects.volume(
            metadata, cinder_objects.volume_type(**specs)
        )
        found = attachment_mode.asked(
            volume, cinder_objects.settings(**options)
        )
        self.assertEqual(
            (origin, False), (found.origin, found.shared) if found else None
        )

    def test_volume_without_a_type(self) -> None:
        volume = cinder_objects.volume({'rbd:cache_mode': 'writeback'})
        self.assertIs(
            CacheMode.WRITEBACK,
            _mode(volume, cinder_objects.settings()),
        )

    @ddt.data(
        {'rbd:object_size': '3M'},
        {'rbd:stripe_unit': '64K'},
        {'rbd:no_such_key': 'x'},
        {'rbd:features': 'journaling'},
    )
    def test_what_was_settled_is_no_obstacle(
        self, settled: dict[str, str]
    ) -> None:
        volume = cinder_objects.volume(
            {**settled, 'rbd:cache_mode': 'none'},
            cinder_objects.volume_type(**settled),
        )
        self.assertIs(CacheMode.NONE, _mode(volume, cinder_objects.settings()))

    @ddt.data('Writeback', '', 'writeback ', 'unsafe')
    def test_mode_that_can_not_be_had(self, mode: str) -> None:
        error = self.assertRaises(
            errors.OptionError,
            attachment_mode.asked,
            cinder_objects.volume({'rbd:cache_mode': mode}),
            cinder_objects.settings(),
        )
        self.assertEqual(('rbd:cache_mode', mode), (error.key, error.value))
        self.assertEqual(errors.Origin.VOLUME_METADATA, error.origin)

    @ddt.data({}, {'rbd_tenant_options': 'rbd:object_map'})
    def test_accepted_mode_outlives_the_permission(
        self, specs: dict[str, str]
    ) -> None:
        """The list may have changed since the key was set."""
        volume = cinder_objects.volume(
            {'rbd:cache_mode': 'none'}, cinder_objects.volume_type(**specs)
        )
        settings = cinder_objects.settings(
            rbd_tenant_options='rbd:stripe_unit'
        )
        self.assertIs(CacheMode.NONE, _mode(volume, settings))


@ddt.ddt
class MultiattachTest(base.TestCase):
    @ddt.data({}, {'rbd_volume_cache_mode': 'writeback'})
    def test_always_none(self, options: dict[str, str]) -> None:
        """The mode is not a request, which a host could refuse."""
        volume = cinder_objects.volume(
            {}, cinder_objects.volume_type(), multiattach=True
        )
        self.assertEqual(
            attachment_mode.Asked(CacheMode.NONE, None, shared=True),
            attachment_mode.asked(volume, cinder_objects.settings(**options)),
        )

    @ddt.data(
        ({'rbd:cache_mode': 'writeback'}, {}),
        ({}, {'rbd:cache_mode': 'writeback'}),
        ({'rbd:cache_mode': 'fast'}, {}),
    )
    @ddt.unpack
    def test_contradicting_keys(
        self, metadata: dict[str, str], specs: dict[str, str]
    ) -> None:
        """They were refused when they were set, unless the suite was off."""
        volume = cinder_objects.volume(
            metadata,
            cinder_objects.volume_type(multiattach='<is> True', **specs),
            multiattach=True,
        )
        self.assertIs(CacheMode.NONE, _mode(volume, cinder_objects.settings()))

    def test_left_from_before_a_retype(self) -> None:
        """The volume is no longer multi-attach after a retype."""
        volume = cinder_objects.volume(
            {'rbd:cache_mode': 'writeback'}, cinder_objects.volume_type()
        )
        self.assertIs(
            CacheMode.WRITEBACK,
            _mode(volume, cinder_objects.settings()),
        )
