# SPDX-License-Identifier: Apache-2.0

from collections.abc import Mapping
from typing import Any
from unittest import mock

import ddt

from cinder_rbd_ext.attach import cache_mode
from rbd_volume_options import agreement
from rbd_volume_options import backend_settings
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

#: Connectors and the modes that they offer.
_OFFERS: dict[str, tuple[dict[str, Any], frozenset[CacheMode] | None]] = {
    'no_plug_in': ({}, None),
    'list': (
        {'rbd_cache_modes': ['none', 'writeback']},
        frozenset({CacheMode.NONE, CacheMode.WRITEBACK}),
    ),
    'text': (
        {'rbd_cache_modes': 'none, writeback'},
        frozenset({CacheMode.NONE, CacheMode.WRITEBACK}),
    ),
    'unsafe': (
        {'rbd_cache_modes': ['unsafe']},
        frozenset({CacheMode.UNSAFE}),
    ),
    'words_of_a_later_release': (
        {'rbd_cache_modes': ['none', 'telepathic']},
        frozenset({CacheMode.NONE}),
    ),
    'other_case': ({'rbd_cache_modes': ['Writeback']}, frozenset()),
    'empty': ({'rbd_cache_modes': []}, frozenset()),
    'empty_text': ({'rbd_cache_modes': ''}, frozenset()),
    'things_that_are_no_words': (
        {'rbd_cache_modes': [None, 1, ['none'], {'none': 1}]},
        frozenset(),
    ),
    'nothing': ({'rbd_cache_modes': None}, frozenset()),
    'number': ({'rbd_cache_modes': 7}, frozenset()),
    'mapping': ({'rbd_cache_modes': {'writeback': True}}, frozenset()),
}


def _warn(text: str, values: Mapping[str, object]) -> None:
    pass


@ddt.ddt
class OfferTest(base.TestCase):
    @ddt.data(*_OFFERS)
    def test_offer_is_read_from_connector(self, case: str) -> None:
        connector, offer = _OFFERS[case]
        self.assertEqual(offer, agreement.of_connector(connector, _warn))

    def test_no_list_is_logged(self) -> None:
        warnings: list[str] = []

        def read(value: object) -> None:
            agreement.of_connector(
                {'host': 'c\n1', 'rbd_cache_modes': value},
                lambda text, values: warnings.append(text % values),
            )

        read('x' * 9999)
        self.assertEqual([], warnings)
        read({'x': 'y\n'})
        [warning] = warnings
        self.assertIn(r"Connector of host 'c\n1': rbd_cache_modes", warning)
        self.assertNotIn('\n', warning)


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
        agreement.check_offered(wanted, frozenset({mode}))

    def _text(self, offer: agreement.HostModes | None) -> str:
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
            self._text(frozenset({CacheMode.DIRECTSYNC, CacheMode.NONE})),
        )

    def test_nothing_allowed_there(self) -> None:
        self.assertIn('allowed: no cache mode', self._text(frozenset()))

    def test_unsafe_is_to_be_listed(self) -> None:
        wanted = agreement.RequestedMode(
            CacheMode.UNSAFE, errors.Origin.VOLUME_TYPE
        )
        self.assertRaises(
            errors.OptionError, agreement.check_offered, wanted, _SAFE
        )

    @ddt.data(None, frozenset())
    def test_shared_disks_get_none_from_nova_itself(
        self, offer: agreement.HostModes | None
    ) -> None:
        wanted = agreement.RequestedMode(CacheMode.NONE, None, shared=True)
        agreement.check_offered(wanted, offer)


_ALL = {'rbd_cache_modes': ['none', 'writeback']}
_NOTHING: dict[str, Any] = {'host': 'compute-1'}

#: Requested mode, connector, mode of the replaced attachment (None: there is
#: none); agreed mode, part of the error, whether the attachment is refused
#: with strict and with lenient enforcement.
_CASES: dict[str, tuple[Any, ...]] = {
    'nobody_asks': (None, _NOTHING, None, None, '', False, False),
    'offered': ('writeback', _ALL, None, 'writeback', '', False, False),
    'not_offered': (
        'directsync',
        _ALL,
        None,
        None,
        'does not offer it',
        True,
        False,
    ),
    'no_plug_in': ('none', _NOTHING, None, None, 'offers no', True, False),
    'not_allowed': ('unsafe', _ALL, None, None, 'not allowed', True, True),
    'not_allowed_any_more': (
        'unsafe',
        _ALL,
        'writeback',
        'writeback',
        'not allowed',
        False,
        False,
    ),
    'nor_offered': (
        'unsafe',
        _NOTHING,
        'unsafe',
        None,
        "'unsafe': the compute host offers no",
        True,
        False,
    ),
    'the_host_chose': (
        'unsafe',
        _NOTHING,
        'host',
        None,
        'not allowed',
        False,
        False,
    ),
    'changed_meanwhile': (
        'none',
        _ALL,
        'writeback',
        'none',
        '',
        False,
        False,
    ),
}


@ddt.ddt
class AgreeTest(base.TestCase):
    def agree(
        self, case: str, certain: bool = True, **options: str
    ) -> agreement.Agreement:
        mode, connector, before, *_ = _CASES[case]
        earlier = None
        if before:
            kept = None if before == 'host' else cache_modes.CacheMode(before)
            earlier = agreement.Earlier(kept, 'compute-0')
        volume = _volume({'rbd:cache_mode': mode} if mode else {})
        settings = cinder_objects.settings(**options)
        return agreement.agree(
            volume, connector, settings, certain, lambda: earlier
        )

    def check(self, case: str, outcome: agreement.Agreement) -> None:
        """Check the agreed mode and the error."""
        *_, mode, words, _, _ = _CASES[case]
        agreed = outcome.requested.mode.value if outcome.requested else None
        self.assertEqual(mode, agreed)
        self.assertIn(words, str(outcome.error or ''))
        self.assertIs(bool(words), outcome.error is not None)

    @ddt.data(*_CASES)
    def test_strict_backend_refuses_unsupported_mode(self, case: str) -> None:
        agreed = self.agree(case)
        self.check(case, agreed)
        self.assertIs(_CASES[case][-2], agreed.refused)

    @ddt.data(*_CASES)
    def test_lenient_backend_attaches_without_mode(self, case: str) -> None:
        agreed = self.agree(case, rbd_cache_mode_enforcement='lenient')
        self.check(case, agreed)
        self.assertIs(_CASES[case][-1], agreed.refused)

    @ddt.data(*_CASES)
    def test_not_for_a_server(self, case: str) -> None:
        agreed = self.agree(case, certain=False)
        self.check(case, agreed)
        self.assertIs(False, agreed.refused)

    @ddt.data(
        ('directsync', _ALL),
        ('writeback', _NOTHING),
        ('unsafe', _ALL),
        ('unsafe', _NOTHING),
    )
    @ddt.unpack
    def test_same_host(self, mode: str, connector: dict[str, Any]) -> None:
        """A rebuild always keeps the current mode of the server."""
        volume = _volume({'rbd:cache_mode': mode})
        here = {**connector, 'host': 'compute-0'}
        for before in (cache_modes.CacheMode.WRITETHROUGH, None):
            earlier = agreement.Earlier(before, 'compute-0')
            for options in ({}, {'rbd_cache_mode_enforcement': 'lenient'}):
                agreed = agreement.agree(
                    volume,
                    here,
                    cinder_objects.settings(**options),
                    True,
                    mock.Mock(return_value=earlier),
                )
                kept = agreed.requested.mode if agreed.requested else None
                self.assertIs(before, kept)
                self.assertIsNotNone(agreed.error)
                self.assertFalse(agreed.refused)

    @ddt.data(('directsync', _ALL), ('unsafe', _NOTHING))
    @ddt.unpack
    def test_former_host(self, mode: str, connector: dict[str, Any]) -> None:
        """A resize is reverted; the former host does not offer the mode."""
        former = agreement.Earlier(
            cache_modes.CacheMode.WRITETHROUGH, 'compute-0'
        )
        earlier = agreement.Earlier(
            cache_modes.CacheMode.UNSAFE, 'compute-1', former
        )
        for host, kept in (('compute-0', True), ('compute-2', False)):
            agreed = agreement.agree(
                _volume({'rbd:cache_mode': mode}),
                {**connector, 'host': host},
                cinder_objects.settings(),
                True,
                mock.Mock(return_value=earlier),
            )
            self.assertIs(kept, agreed.kept)
            self.assertIs(kept, not agreed.refused)
            if kept:
                self.assertEqual(
                    'writethrough',
                    agreed.requested and agreed.requested.mode.value,
                )

    def test_same_host_has_the_requested_mode(self) -> None:
        earlier = agreement.Earlier(cache_modes.CacheMode.NONE, 'compute-0')
        agreed = agreement.agree(
            _volume({'rbd:cache_mode': 'writeback'}),
            {**_ALL, 'host': 'compute-0'},
            cinder_objects.settings(),
            True,
            lambda: earlier,
        )
        self.assertEqual(
            'writeback', agreed.requested and agreed.requested.mode.value
        )
        self.assertIsNone(agreed.error)


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
        everything = frozenset(CacheMode) - {longest.mode}
        for check, obstacle in (
            (agreement.check_offered, None),
            (agreement.check_offered, everything),
            (agreement.check_cache, False),
        ):
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
