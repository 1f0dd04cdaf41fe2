# SPDX-License-Identifier: Apache-2.0

"""An option that only tests have."""

import enum
from typing import Any

import fixtures

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import options
from rbd_volume_options import phrases
from rbd_volume_options import registry

KEY = 'rbd:pace_hint'


class Pace(enum.Enum):
    """The values of the option."""

    SLOW = 'slow'
    FAST = 'fast'


def _parse(value: str) -> Pace:
    for pace in Pace:
        if pace.value == value:
            return pace
    raise errors.OptionError(
        KEY,
        value,
        phrases.Phrase('not a pace'),
        ', '.join(each.value for each in Pace),
    )


OPTION = definitions.Option(
    key=KEY,
    kind=definitions.Kind.IMAGE_CONFIGURATION,
    value_type=definitions.ValueType.WORD,
    title=phrases.Phrase('Pace'),
    summary=phrases.Phrase('how fast the image is'),
    description='How fast the image is.',
    when_to_use=phrases.Phrase('Fast costs more.'),
    parse=_parse,
    conf_type='pace',
    conf_help='Default pace of volumes.',
    policy=definitions.Policy('pace', 'Set the pace'),
    attribute=f'{definitions.ALIAS}:pace_hint',
    fixed=False,
    takes_effect='within seconds',
    item='rbd_pace_hint',
    choices={
        'slow': phrases.Phrase('takes its time'),
        'fast': phrases.Phrase('is in a hurry'),
    },
)


class FakeOption(fixtures.Fixture):
    """Registers :data:`OPTION`, or another one."""

    def __init__(self, option: definitions.Option = OPTION) -> None:
        self._option = option

    def _setUp(self) -> None:
        registry.OPTIONS[self._option.key] = self._option
        self.addCleanup(self._remove)
        options._parsed.cache_clear()

    def _remove(self) -> Any:
        del registry.OPTIONS[self._option.key]
        options._parsed.cache_clear()
