# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt

from cinder_rbd_ext.attach import cache_mode
from rbd_volume_options import agreement
from rbd_volume_options import backend_settings
from rbd_volume_options import compute_hosts
from rbd_volume_options import errors
from rbd_volume_options.families import cache_modes
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


def _volume(*args: Any, **kwargs: Any) -> agreement.Attaching:
    return cache_mode.attaching(cinder_objects.volume(*args, **kwargs))


def _mode(
    volume: agreement.Attaching, settings: backend_settings.BackendSettings
) -> CacheMode | None:
    requested = agreement.requested_mode(volume, settings)
    return requested.mode if requested else None


@ddt.ddt
class CacheModeTest(base.TestCase):
    @ddt.data(*_MODES)
    def test_mode_follows_precedence(self, case: str) -> None:
        metadata, specs, options, mode = _MODES[case]
        volume = _volume(metadata, cinder_objects.volume_type(**specs))
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
        volume = _volume(metadata, cinder_objects.volume_type(**specs))
        requested = agreement.requested_mode(
            volume, cinder_objects.settings(**options)
        )
        self.assertEqual(
            (origin, False),
            (requested.origin, requested.shared) if requested else None,
        )

    def test_volume_without_a_type(self) -> None:
        volume = _volume({'rbd:cache_mode': 'writeback'})
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
        volume = _volume(
            {**settled, 'rbd:cache_mode': 'none'},
            cinder_objects.volume_type(**settled),
        )
        self.assertIs(CacheMode.NONE, _mode(volume, cinder_objects.settings()))

    @ddt.data('Writeback', '', 'writeback ', 'unsafe')
    def test_mode_that_can_not_be_had(self, mode: str) -> None:
        error = self.assertRaises(
            errors.OptionError,
            agreement.requested_mode,
            _volume({'rbd:cache_mode': mode}),
            cinder_objects.settings(),
        )
        self.assertEqual(('rbd:cache_mode', mode), (error.key, error.value))
        self.assertEqual(errors.Origin.VOLUME_METADATA, error.origin)

    @ddt.data({}, {'rbd_tenant_options': 'rbd:object_map'})
    def test_accepted_mode_outlives_the_permission(
        self, specs: dict[str, str]
    ) -> None:
        """The list may have changed since the key was set."""
        volume = _volume(
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
        volume = _volume({}, cinder_objects.volume_type(), multiattach=True)
        self.assertEqual(
            agreement.RequestedMode(CacheMode.NONE, None, shared=True),
            agreement.requested_mode(
                volume, cinder_objects.settings(**options)
            ),
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
        volume = _volume(
            metadata,
            cinder_objects.volume_type(multiattach='<is> True', **specs),
            multiattach=True,
        )
        self.assertIs(CacheMode.NONE, _mode(volume, cinder_objects.settings()))

    def test_left_from_before_a_retype(self) -> None:
        """The volume is no longer multi-attach after a retype."""
        volume = _volume(
            {'rbd:cache_mode': 'writeback'}, cinder_objects.volume_type()
        )
        self.assertIs(
            CacheMode.WRITEBACK,
            _mode(volume, cinder_objects.settings()),
        )


_SAFE = frozenset(cache_modes.SAFE_CACHE_MODES)
_ASKED = agreement.RequestedMode(
    CacheMode.WRITEBACK, errors.Origin.VOLUME_METADATA
)


def _host(*modes: CacheMode) -> compute_hosts.ComputeHost:
    return compute_hosts.ComputeHost(
        frozenset(modes), versions={'libvirt': '9.0.0', 'qemu': '7.2.0'}
    )


@ddt.ddt
class ConnectionTest(base.TestCase):
    @ddt.data(
        ({'cache_mode': 'writeback'}, CacheMode.WRITEBACK),
        ({'cache_mode': 'newer'}, None),
        ({'cache_mode': None}, None),
        ({}, None),
    )
    @ddt.unpack
    def test_mode_of_a_connection(
        self, connection_info: dict[str, Any], mode: CacheMode | None
    ) -> None:
        self.assertIs(mode, agreement.mode_of(connection_info))


@ddt.ddt
class CheckTest(base.TestCase):
    @ddt.data(*CacheMode)
    def test_offered_mode_is_accepted(self, mode: CacheMode) -> None:
        wanted = agreement.RequestedMode(mode, errors.Origin.BACKEND)
        agreement.check_offered(wanted, _host(mode))

    def _text(self, offer: agreement.Host) -> str:
        error = self.assertRaises(
            errors.OptionError, agreement.check_offered, _ASKED, offer
        )
        self.assertEqual('rbd:cache_mode', error.key)
        return str(error)

    def test_no_plug_in(self) -> None:
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): the compute "
            'host offers no cache modes; allowed: no cache mode',
            self._text(None),
        )

    def test_not_allowed_there(self) -> None:
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): the compute "
            'host does not offer it; allowed: none, directsync',
            self._text(_host(CacheMode.DIRECTSYNC, CacheMode.NONE)),
        )

    def test_nothing_allowed_there(self) -> None:
        self.assertIn('allowed: no cache mode', self._text(_host()))

    def test_unsafe_is_to_be_listed(self) -> None:
        wanted = agreement.RequestedMode(
            CacheMode.UNSAFE, errors.Origin.VOLUME_TYPE
        )
        self.assertRaises(
            errors.OptionError, agreement.check_offered, wanted, _host(*_SAFE)
        )

    @ddt.data(None, compute_hosts.ComputeHost(frozenset()))
    def test_shared_disks_get_none_from_nova_itself(
        self, offer: agreement.Host
    ) -> None:
        wanted = agreement.RequestedMode(CacheMode.NONE, None, shared=True)
        agreement.check_offered(wanted, offer)


_ALL = _host(CacheMode.NONE, CacheMode.WRITEBACK)

#: Requested mode and host; agreed mode, part of the refusal by a strict back
#: end and by a lenient one.
_CASES: dict[str, tuple[Any, ...]] = {
    'nobody_asks': (None, None, None, '', ''),
    'offered': ('writeback', _ALL, 'writeback', '', ''),
    'not_offered': ('directsync', _ALL, 'directsync', 'does not offer it', ''),
    'no_plug_in': ('none', None, 'none', 'offers no', ''),
    'not_allowed': ('unsafe', _ALL, None, 'not allowed', 'not allowed'),
    'neither': ('unsafe', None, None, 'not allowed', 'not allowed'),
}


@ddt.ddt
class AgreeTest(base.TestCase):
    def check(self, case: str, words: str, **options: str) -> None:
        """Check the requested mode and the refusal."""
        mode, host, requested, *_ = _CASES[case]
        volume = _volume({'rbd:cache_mode': mode} if mode else {})
        settings = cinder_objects.settings(**options)
        agreed = agreement.agree(volume, host, settings)
        self.assertEqual(
            requested, agreed.requested and agreed.requested.mode.value
        )
        self.assertIn(words, str(agreed.refusal or ''))
        self.assertIs(bool(words), agreed.refusal is not None)

    @ddt.data(*_CASES)
    def test_strict_backend_refuses_unsupported_mode(self, case: str) -> None:
        self.check(case, _CASES[case][-2])

    @ddt.data(*_CASES)
    def test_lenient_backend_refuses_only_a_mode_that_it_does_not_allow(
        self, case: str
    ) -> None:
        self.check(
            case, _CASES[case][-1], rbd_cache_mode_enforcement='lenient'
        )

    @ddt.data(
        ('rbd:discard_granularity', '64K', _ALL, 'libvirt 9.0.0, QEMU 7.2.0'),
        ('rbd:discard_granularity', '64K', None, 'no active plug-in'),
        ('rbd:detect_zeroes', 'unmap', None, 'no active plug-in'),
        ('rbd:detect_zeroes', 'off', None, ''),
        ('rbd:discard', 'false', None, ''),
        (
            'rbd:discard_granularity',
            '64K',
            compute_hosts.ComputeHost(
                frozenset(), frozenset({'rbd:discard_granularity'})
            ),
            '',
        ),
    )
    @ddt.unpack
    def test_other_option_that_the_host_cannot_apply_is_refused(
        self, key: str, value: str, host: agreement.Host, words: str
    ) -> None:
        for strict in 'strict', 'lenient':
            agreed = agreement.agree(
                _volume({key: value}),
                host,
                cinder_objects.settings(rbd_cache_mode_enforcement=strict),
            )
            refusal = str(agreed.refusal or '')
            expected = words if strict == 'strict' else ''
            self.assertIn(expected, refusal)
            self.assertIs(bool(expected), bool(refusal))
            self.assertLess(len(refusal), 256)
            self.assertIn(key, agreed.values)

    def test_sector_sizes_of_a_move_are_those_of_its_last_connection(
        self,
    ) -> None:
        sizes = {'logical_block_size': '4096', 'physical_block_size': '4096'}
        move = agreement.Move({**sizes, 'cache_mode': 'none', 'name': 'x'})
        self.assertEqual(sizes, move.sectors)
        self.assertIs(CacheMode.NONE, move.mode)
        self.assertEqual({}, agreement.Move().sectors)


@ddt.ddt
class OverrideTest(base.TestCase):
    @ddt.data(*CacheMode)
    def test_contradicting_setting_is_refused_for_each_mode(
        self, mode: CacheMode
    ) -> None:
        wanted = agreement.RequestedMode(mode, errors.Origin.VOLUME_TYPE)
        agreement.check_cache(wanted, None)
        agreement.check_cache(wanted, mode.uses_rbd_cache)
        error = self.assertRaises(
            errors.OptionError,
            agreement.check_cache,
            wanted,
            not mode.uses_rbd_cache,
        )
        self.assertIn('conf_rbd_cache = ', str(error))
        self.assertNotIn(mode.value, error.allowed.split(';')[0].split(', '))

    def test_room_for_the_longest(self) -> None:
        """The field that tenants read holds 255 characters."""
        longest = agreement.RequestedMode(
            CacheMode.WRITETHROUGH, errors.Origin.BACKEND
        )
        everything = _host(*(set(CacheMode) - {longest.mode}))
        checks: list[tuple[Any, Any]] = [
            (agreement.check_offered, None),
            (agreement.check_offered, everything),
            (agreement.check_cache, False),
        ]
        for check, obstacle in checks:
            error = self.assertRaises(
                errors.OptionError, check, longest, obstacle
            )
            self.assertLess(len(str(error)), 256)

    def test_refusal_names_setting_and_allowed_modes(self) -> None:
        error = self.assertRaises(
            errors.OptionError, agreement.check_cache, _ASKED, False
        )
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): conf_rbd_cache = "
            'false, set on the RBD image or its pool, overrides it; allowed: '
            'none, directsync, or remove the setting',
            str(error),
        )
