# SPDX-License-Identifier: Apache-2.0

"""Refusals of Cinder's API extension, for display at the related field."""

import dataclasses
import re

from cinderclient import exceptions as cinder_exceptions
from django.utils.translation import gettext
import requests.exceptions

from horizon_volume_opts import phrasing
from horizon_volume_opts import qos
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry

#: What a request through cinderclient raises if it fails: the error response
#: of Cinder, or no response.
FAILURES: tuple[type[Exception], ...] = (
    cinder_exceptions.ClientException,
    cinder_exceptions.ConnectionError,
    requests.exceptions.RequestException,
)
_BAD = re.compile(
    re.escape(errors.REFUSED) + r'(?P<key>rbd:\w+) = (?P<text>.+)', re.DOTALL
)
_UNAVAILABLE = 503
#: A value in bytes, as a message of Cinder has it.
_BYTES = re.compile(
    rf'(?P<key>^|({keys.OBJECT_SIZE}|{keys.STRIPE_UNIT}) = )'
    r"'(?P<number>[1-9][0-9]{0,18})'"
)
#: A number of bytes per second in a message about such a key.
_NUMBER = re.compile(
    r"'(?P<quoted>[1-9][0-9]{3,18})'"
    r"|(?<![\w'])(?P<bare>[1-9][0-9]{3,18})(?![\w'])"
)
_SIZES = (keys.OBJECT_SIZE, keys.STRIPE_UNIT)
_FORBIDDEN = re.compile(
    errors.FORBIDDEN_KEY.format(
        policy=rf'{definitions.POLICY}:\w+', key=r'(?P<key>rbd:\w+)'
    )
)


@dataclasses.dataclass(frozen=True)
class Refusal:
    """The reason for refusing a request.

    :ivar key: the key that was refused; None if the reason is not a key
    :ivar text: the message for the user
    """

    key: str | None
    text: str


def of_error(error: errors.OptionError) -> Refusal:
    """Return the refusal for an error of the rules, for the user."""
    text = gettext('%(value)s: %(reason)s; allowed: %(allowed)s')
    return Refusal(
        error.key,
        readable(
            text
            % {
                'value': errors.shown(error.value),
                'reason': phrasing.in_words(error.reason),
                'allowed': phrasing.in_words(error.allowed),
            },
            error.key,
        ),
    )


def readable(text: str, key: str = '') -> str:
    """Return a message with values in bytes as sizes with a unit.

    :param key: the key whose value begins the message, if one does
    """

    def sized(match: re.Match[str]) -> str:
        if not match['key'] and key not in _SIZES:
            return match[0]
        return match['key'] + phrasing.size(int(match['number']))

    option = registry.OPTIONS.get(key)
    if option and option.is_rate:
        return _NUMBER.sub(
            lambda number: qos.amount(
                number['quoted'] or number['bare'], is_size=True
            ),
            text,
        )
    return _BYTES.sub(sized, text)


def read(error: cinder_exceptions.ClientException) -> Refusal | None:
    """Return the refusal of Cinder's API extension; None for other errors."""
    text = str(error.message or '')
    bad = _BAD.match(text)
    if isinstance(error, cinder_exceptions.BadRequest) and bad:
        return Refusal(bad['key'], readable(bad['text'], bad['key']))
    forbidden = _FORBIDDEN.match(text)
    if isinstance(error, cinder_exceptions.Forbidden) and forbidden:
        return Refusal(forbidden['key'], forbidden[0])
    if getattr(error, 'code', None) == _UNAVAILABLE:
        # No back end has reported to the scheduler yet; a retry may succeed.
        return Refusal(None, text)
    return None
