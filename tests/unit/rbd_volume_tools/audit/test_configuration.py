# SPDX-License-Identifier: Apache-2.0

from typing import Any

import ddt
import hypothesis

from rbd_volume_options import definitions
from rbd_volume_tools.audit import configuration
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import facts

_RECORD = {definitions.ATTRIBUTE_OBJECT_SIZE: 2**22}
_LIMITED = {
    **_RECORD,
    definitions.ATTRIBUTE_LIMITS: {'iops_limit': 100, 'bps_limit': 2**20},
}
_HINTED = {
    **_RECORD,
    f'{definitions.ALIAS}:compression_hint': 'compressible',
}
_SET = {'rbd_qos_iops_limit': '100', 'rbd_qos_bps_limit': '1048576'}
_WRONG = {**_SET, 'rbd_qos_iops_limit': '5'}
_HINT = 'rbd_compression_hint'
_OTHERS = {'rbd_cache': 'false', 'rbd_qos_read_iops_limit': '5'}


@ddt.ddt
class ConfigurationTest(untrusted.TestCase):
    # The attributes of a volume, the options of its image, how they differ,
    # and what nothing explains.
    @ddt.data(
        (
            {**_LIMITED, **_HINTED},
            *({**_SET, _HINT: 'compressible'}, '', {}),
        ),
        (_LIMITED, _WRONG, 'rbd_qos_iops_limit is 5, recorded', {}),
        (
            _LIMITED,
            {**_SET, 'rbd_qos_iops_limit': '5x'},
            *('rbd_qos_iops_limit is 5x,', {}),
        ),
        (
            _LIMITED,
            {'rbd_qos_bps_limit': '1M'},
            *('rbd_qos_iops_limit is unset, recorded', {}),
        ),
        (
            _LIMITED,
            {**_SET, 'rbd_qos_iops_burst': '900'},
            *('burst is 900, recorded as unset', {}),
        ),
        (_HINTED, {_HINT: 'none'}, f'{_HINT} is none', {}),
        # Options of other families are left to their owners.
        (_LIMITED, {**_SET, **_OTHERS}, '', _OTHERS),
        # Without a record.
        ({definitions.ATTRIBUTE_LIMITS: {}}, _WRONG, '', _WRONG),
    )
    @ddt.unpack
    def test_options_of_an_image_are_those_that_are_recorded(
        self,
        made: dict[str, Any],
        overrides: dict[str, str],
        difference: str,
        unexplained: dict[str, str],
    ) -> None:
        volume = facts.volume(made=made)
        image = facts.image(overrides=overrides)
        found = list(configuration.contradictions(image, volume))
        self.assertEqual(bool(difference), bool(found))
        self.assertIn(difference, ''.join(found))
        self.assertEqual(
            unexplained, dict(configuration.unexplained(image, volume))
        )

    @ddt.data(
        {'status': 'retyping'}, {'status': 'extending'}, {'migrating': True}
    )
    def test_volume_in_change_is_left_out(
        self, values: dict[str, Any]
    ) -> None:
        volume = facts.volume(made=_LIMITED, **values)
        image = facts.image(overrides=_WRONG)
        self.assertEqual([], list(configuration.contradictions(image, volume)))

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
