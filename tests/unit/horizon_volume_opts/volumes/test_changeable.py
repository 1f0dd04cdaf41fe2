# SPDX-License-Identifier: Apache-2.0

"""The choice of a value for a key that can be changed."""

import types
from typing import Any

from horizon_volume_opts import offers
from horizon_volume_opts.volumes import attach
from horizon_volume_opts.volumes import changeable
from rbd_volume_options import definitions
from rbd_volume_options import registry
from tests.unit import base
from tests.unit.horizon_volume_opts import fake_cloud


def _choice(
    option: definitions.Option = attach.OPTION, **changes: Any
) -> changeable.Choice:
    metadata = {'rbd:cache_mode': 'directsync'}
    volume = types.SimpleNamespace(
        **{'volume_type': 'rbd', 'metadata': metadata, **changes}
    )
    by_type = {'rbd': offers.UserOffer.of(fake_cloud.offered('rbd'))}
    return changeable.Choice(option, volume, by_type)


class ChoiceTestCase(base.TestCase):
    def test_limit_in_force_is_the_default(self) -> None:
        option = registry.OPTIONS['rbd:iops_limit']
        limits: dict[str, Any] = {
            definitions.ATTRIBUTE_LIMITS: {'iops_limit': 12000}
        }
        for metadata, blank in (
            ({}, 'Default: 12,000'),
            # What the volume would have without it is unknown.
            (
                {'rbd:iops_limit': '9'},
                'Default: no limit, unless the volume type has one',
            ),
        ):
            choice = _choice(option=option, metadata=metadata, **limits)
            attrs = choice.field().widget.attrs
            self.assertEqual(blank, attrs['placeholder'])

    def test_other_spelling_of_a_boolean_is_in_the_list(self) -> None:
        option = registry.OPTIONS['rbd:discard']
        choice = _choice(option=option, metadata={'rbd:discard': 'no'})
        self.assertEqual('false', choice.before)
        field = choice.field()
        self.assertEqual(
            ['', 'true', 'false'], list(dict(field.widget.choices))
        )
        self.assertEqual('false', field.initial)
        choice = _choice(option=option, metadata={'rbd:discard': 'maybe'})
        self.assertEqual('maybe', choice.before)
