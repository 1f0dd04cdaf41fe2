# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt
import hypothesis

from rbd_volume_options import definitions
from rbd_volume_tools.audit import configuration
from rbd_volume_tools.audit import records
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import facts


def _volume(made: dict[str, Any], **values: Any) -> records.Volume:
    return facts.volume(
        made={definitions.ATTRIBUTE_OBJECT_SIZE: 2**22, **made}, **values
    )


_LIMITED = {
    definitions.ATTRIBUTE_LIMITS: {'iops_limit': 100, 'bps_limit': 2**20}
}
_SET = {'rbd_qos_iops_limit': '100', 'rbd_qos_bps_limit': '1048576'}
_HINT = 'rbd_compression_hint'


@ddt.ddt
class ConfigurationTest(untrusted.TestCase):
    def differences(
        self, volume: records.Volume, overrides: dict[str, str]
    ) -> list[str]:
        """Return the contradictions of an image with options of Ceph."""
        image = facts.image(overrides=overrides)
        return list(configuration.contradictions(image, volume))

    def test_options_as_recorded_are_no_finding(self) -> None:
        volume = _volume(
            {
                **_LIMITED,
                f'{definitions.ALIAS}:compression_hint': 'compressible',
            }
        )
        overrides = {**_SET, _HINT: 'compressible'}
        self.assertEqual([], self.differences(volume, overrides))
        image = facts.image(overrides=overrides)
        self.assertEqual([], list(configuration.unexplained(image, volume)))

    @ddt.data(
        ({**_SET, 'rbd_qos_iops_limit': '5'}, 'rbd_qos_iops_limit is 5, re'),
        ({**_SET, 'rbd_qos_iops_limit': '5x'}, 'rbd_qos_iops_limit is 5x,'),
        ({'rbd_qos_bps_limit': '1M'}, 'rbd_qos_iops_limit is unset, recorded'),
        (
            {**_SET, 'rbd_qos_iops_burst': '900'},
            'burst is 900, recorded as un',
        ),
    )
    @ddt.unpack
    def test_other_options_than_recorded_are_a_finding(
        self, overrides: dict[str, str], expected: str
    ) -> None:
        (difference,) = self.differences(_volume(_LIMITED), overrides)
        self.assertIn(expected, difference)

    def test_contradictory_compression_hint_is_a_finding(self) -> None:
        volume = _volume(
            {f'{definitions.ALIAS}:compression_hint': 'compressible'}
        )
        self.assertEqual(1, len(self.differences(volume, {_HINT: 'none'})))

    def test_options_of_other_families_are_left_to_their_owners(self) -> None:
        volume = _volume(_LIMITED)
        others = {'rbd_qos_read_iops_limit': '5', 'rbd_cache': 'false'}
        overrides = {**_SET, **others}
        self.assertEqual([], self.differences(volume, overrides))
        image = facts.image(overrides=overrides)
        unexplained = configuration.unexplained(image, volume)
        self.assertEqual(sorted(others.items()), list(unexplained))

    @ddt.data(
        facts.volume(made={definitions.ATTRIBUTE_LIMITS: {}}),
        _volume(_LIMITED, status='retyping'),
        _volume(_LIMITED, status='extending'),
        _volume(_LIMITED, migrating=True),
    )
    def test_volume_without_record_or_in_change_is_left_out(
        self, volume: records.Volume
    ) -> None:
        overrides = {'rbd_qos_iops_limit': '5'}
        self.assertEqual([], self.differences(volume, overrides))

    def test_limits_are_those_that_librbd_applies(self) -> None:
        overrides = {**_SET, 'rbd_qos_read_iops_limit': '0'}
        overrides['rbd_qos_write_iops_limit'] = 'x'
        self.assertEqual(
            {'iops': 100, 'bps': 2**20}, dict(configuration.limits(overrides))
        )

    @hypothesis.given(untrusted.TEXTS)
    @hypothesis.example('\u00b2')
    @hypothesis.example('1' * 5000)
    def test_any_entry_is_a_limit_or_ignored(self, text: str) -> None:
        overrides = {'rbd_qos_iops_limit': text}
        for name, limit in configuration.limits(overrides):
            self.assertEqual(('iops', text.lstrip('0')), (name, str(limit)))
