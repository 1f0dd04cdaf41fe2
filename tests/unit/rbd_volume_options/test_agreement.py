# SPDX-License-Identifier: Apache-2.0

import functools
from typing import Any

import ddt

from cinder_rbd_ext.attach import cache_mode
from rbd_volume_options import agreement
from rbd_volume_options import compute_hosts
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options.families import cache_modes
from tests.unit import base
from tests.unit.cinder_rbd_ext import cinder_objects

CacheMode = cache_modes.CacheMode
Origin = errors.Origin

_MODE = {'rbd:cache_mode': 'writeback'}
_BACKEND = {'rbd_volume_cache_mode': 'directsync'}
_UNLISTED = {'rbd_tenant_options': 'rbd:stripe_unit'}
_MULTIATTACH = {'multiattach': '<is> True'}
#: Keys that were valid when the volume was created, and are not any more.
_SETTLED = (
    *({'rbd:object_size': '3M'}, {'rbd:stripe_unit': '64K'}),
    *({'rbd:no_such_key': 'x'}, {'rbd:features': 'journaling'}),
)


def _host(*modes: CacheMode) -> dict[str, Any]:
    host = compute_hosts.ComputeHost(
        frozenset(modes), versions={'libvirt': '9.0.0', 'qemu': '7.2.0'}
    )
    return {compute_hosts.CONNECTOR_ITEM: host.item}


def _agree(
    metadata: dict[str, str],
    specs: dict[str, str] | None = None,
    connector: dict[str, Any] | None = None,
    multiattach: bool = False,
    **settings: Any,
) -> agreement.Agreement:
    volume_type = cinder_objects.volume_type(**(specs or {}))
    return cache_mode.agree(
        cinder_objects.volume(metadata, volume_type, multiattach=multiattach),
        connector or {},
        cinder_objects.settings(**settings),
    )


@ddt.ddt
class RequestedModeTest(base.TestCase):
    @ddt.data(
        ({}, {}, {}, None),
        ({'purpose': 'x'}, {'qos': 'y'}, {}, None),
        (_MODE, {'rbd_cache_mode': 'none'}, _BACKEND, 'volume metadata'),
        ({}, {'rbd_cache_mode': 'writeback'}, _BACKEND, 'volume type'),
        (
            *({}, {}, {'rbd_volume_cache_mode': 'writeback'}),
            'backend configuration',
        ),
        # An accepted mode outlives the permission.
        (_MODE, {'rbd_tenant_options': ''}, _UNLISTED, 'volume metadata'),
        (_MODE, {}, _UNLISTED, 'volume metadata'),
        # What was fixed at creation is no obstacle.
        *(
            ({**_MODE, **settled}, settled, {}, 'volume metadata')
            for settled in _SETTLED
        ),
    )
    @ddt.unpack
    def test_mode_follows_precedence(
        self,
        metadata: dict[str, str],
        specs: dict[str, str],
        settings: dict[str, Any],
        origin: str | None,
    ) -> None:
        agreed = _agree(metadata, specs, **settings)
        choice = agreed.choices.get(keys.CACHE_MODE)
        self.assertEqual(origin, choice.origin.label if choice else None)
        self.assertIs(CacheMode.WRITEBACK if origin else None, agreed.mode)
        self.assertIsNone(agreed.not_allowed)

    @ddt.data('Writeback', '', 'writeback ', 'unsafe')
    def test_unknown_mode_is_not_allowed(self, mode: str) -> None:
        error: Any = _agree({'rbd:cache_mode': mode}).not_allowed
        self.assertEqual(
            ('rbd:cache_mode', mode, Origin.VOLUME_METADATA),
            (error.key, error.value, error.origin),
        )

    @ddt.data(
        ({}, _MULTIATTACH, {}),
        ({}, _MULTIATTACH, _BACKEND),
        # These were refused when they were set, unless the suite was off.
        (_MODE, _MULTIATTACH, {}),
        ({}, {**_MULTIATTACH, 'rbd:cache_mode': 'writeback'}, {}),
        ({'rbd:cache_mode': 'fast'}, _MULTIATTACH, {}),
    )
    @ddt.unpack
    def test_shared_volume_always_has_mode_none(
        self,
        metadata: dict[str, str],
        specs: dict[str, str],
        settings: dict[str, Any],
    ) -> None:
        """Nova itself gives it to all shared disks: no host refuses it."""
        agreed = _agree(metadata, specs, {}, multiattach=True, **settings)
        self.assertIs(CacheMode.NONE, agreed.mode)
        self.assertTrue(agreed.shared)
        self.assertIsNone(agreed.refusal)

    def test_connection_names_the_requested_mode(self) -> None:
        for name, mode in (
            ('writeback', CacheMode.WRITEBACK),
            ('newer', None),
            (None, None),
        ):
            self.assertIs(mode, agreement.mode_of({'cache_mode': name}))
        self.assertIsNone(agreement.mode_of({}))


_ALL = _host(CacheMode.NONE, CacheMode.WRITEBACK)
_SAFE = _host(*cache_modes.SAFE_CACHE_MODES)
_GRANULARITY = {
    compute_hosts.CONNECTOR_ITEM: compute_hosts.ComputeHost(
        frozenset(), frozenset({'rbd:discard_granularity'})
    ).item
}


@ddt.ddt
class RefusalTest(base.TestCase):
    """The first attachment is refused if the host cannot do all."""

    @ddt.data(
        # Key, value, host, and a part of the refusal.
        ('cache_mode', 'writeback', _ALL, ''),
        *(
            ('cache_mode', mode.value, _SAFE, '')
            for mode in cache_modes.SAFE_CACHE_MODES
        ),
        (
            *('cache_mode', 'directsync', _ALL),
            'the compute host does not offer it; allowed: none, writeback',
        ),
        (
            *('cache_mode', 'none', _host()),
            'does not offer it; allowed: no cache mode',
        ),
        (
            *('cache_mode', 'none', {}),
            'the compute host offers no cache modes; allowed: no cache mode',
        ),
        ('discard_granularity', '64K', _ALL, 'libvirt 9.0.0, QEMU 7.2.0'),
        ('discard_granularity', '64K', {}, 'no active plug-in'),
        ('discard_granularity', '64K', _GRANULARITY, ''),
        ('detect_zeroes', 'unmap', {}, 'no active plug-in'),
        ('detect_zeroes', 'off', {}, ''),
        ('discard', 'false', {}, ''),
    )
    @ddt.unpack
    def test_strict_backend_refuses_what_the_host_cannot_do(
        self, name: str, value: str, host: dict[str, Any], words: str
    ) -> None:
        key = f'rbd:{name}'
        for enforcement, expected in (('strict', words), ('lenient', '')):
            agreed = _agree(
                {key: value}, {}, host, rbd_cache_mode_enforcement=enforcement
            )
            refusal = str(agreed.refusal or '')
            self.assertIn(expected, refusal)
            self.assertIs(bool(expected), bool(refusal))
            self.assertIs(bool(words), bool(agreed.obstacles))
            self.assertIn(key, agreed.choices)
            # The field that tenants read holds 255 characters.
            self.assertLess(len(refusal), 256)

    def test_mode_that_the_back_end_does_not_allow_is_always_refused(
        self,
    ) -> None:
        for enforcement in ('strict', 'lenient'):
            agreed = _agree(
                {'rbd:cache_mode': 'unsafe'},
                rbd_cache_mode_enforcement=enforcement,
            )
            self.assertIsNone(agreed.mode)
            self.assertIn('not allowed', str(agreed.refusal))

    def test_unsafe_is_to_be_listed_by_the_host(self) -> None:
        mode = {'rbd:cache_mode': 'unsafe'}
        listed: dict[str, Any] = {'rbd_allowed_cache_modes': 'unsafe'}
        for host, is_refused in ((_SAFE, True), (_host(*CacheMode), False)):
            refusal = _agree(mode, {}, host, **listed).refusal
            self.assertIs(is_refused, refusal is not None)

    def test_volume_and_its_type_can_require_a_host(self) -> None:
        for metadata, specs, requires in (
            (_MODE, {}, True),
            ({}, _MODE, True),
            ({'rbd:detect_zeroes': 'on'}, {}, True),
            ({'rbd:discard': 'false'}, {'rbd:object_size': '1M'}, False),
        ):
            volume = cinder_objects.volume(
                metadata, cinder_objects.volume_type(**specs)
            )
            self.assertIs(requires, agreement.requires_host(volume))


@ddt.ddt
class OverrideTest(base.TestCase):
    @ddt.data(*CacheMode)
    def test_contradicting_setting_is_refused_for_each_mode(
        self, mode: CacheMode
    ) -> None:
        wanted = options.Choice(mode, Origin.BACKEND)
        agreement.check_cache(wanted, None)
        agreement.check_cache(wanted, mode.uses_rbd_cache)
        error = self.assertRaises(
            errors.OptionError,
            functools.partial(agreement.check_cache, wanted),
            not mode.uses_rbd_cache,
        )
        self.assertNotIn(mode.value, error.allowed.split(';')[0].split(', '))
        self.assertLess(len(str(error)), 256)

    def test_refusal_names_setting_and_allowed_modes(self) -> None:
        error = self.assertRaises(
            errors.OptionError,
            agreement.check_cache,
            options.Choice(CacheMode.WRITEBACK, Origin.VOLUME_METADATA),
            False,
        )
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): conf_rbd_cache = "
            'false, set on the RBD image or its pool, overrides it; allowed: '
            'none, directsync, or remove the setting',
            str(error),
        )
