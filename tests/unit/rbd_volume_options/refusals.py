# SPDX-License-Identifier: Apache-2.0

"""Assertions about errors for the tests of this package."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import functools
from typing import Any

from rbd_volume_options import errors
from tests.unit import untrusted

#: Strings that resemble numbers, for keys that require a number.
NO_NUMBERS = (
    *('', ' ', '-1', '+1', '1e3', '1.5', '1.0', '0x40', '0o100', '064'),
    *('1_000', '65,536', ' 64', '64 ', '64\n', '64\0', '64 64', 'big'),
    *('inf', 'nan', '1' * 300, '1' + '0' * 300),
    # Digits of other scripts, and signs that look like nothing.
    *('\u0666\u0664', '\uff16\uff14', '\u096c\u096a', '6\u0664', '6\uff14'),
    *('\U0001d7d4\U0001d7d2', '6\u2074', '\u216b', '\u516b', '\u22121'),
    *('6\u200b4', '\u200f64'),
)


class RefusalTestCase(untrusted.TestCase):
    """Assertions about all parts of an error."""

    def assertRefused(
        self,
        call: Callable[[], Any],
        key: str,
        value: object,
        reason: str,
        allowed: str | None = None,
        origin: errors.Origin | None = None,
    ) -> errors.OptionError:
        """Check that a call is refused for this value and this reason.

        :param allowed: the expected text; None to skip this check
        """
        error: errors.OptionError = self.assertRaises(errors.OptionError, call)
        self.assertEqual(key, error.key)
        self.assertEqual(value, error.value)
        self.assertEqual(reason, error.reason)
        self.assertEqual(origin, error.origin)
        if allowed is not None:
            self.assertEqual(allowed, error.allowed)
        self.assertMessageIsWhole(error)
        return error

    def assertAllRefused(
        self,
        parse: Callable[[Any], Any],
        key: str,
        reasons: Mapping[str, Iterable[object]],
        allowed: str | None = None,
    ) -> None:
        """Check that each value is refused for its reason."""
        for reason, values in reasons.items():
            for value in values:
                with self.subTest(value=value):
                    call = functools.partial(parse, value)
                    self.assertRefused(call, key, value, reason, allowed)

    def assertMessageIsWhole(self, error: errors.OptionError) -> None:
        """Check that the message is complete and safe to log."""
        text = str(error)
        where = f' ({error.origin.label})' if error.origin else ''
        value = errors.shown(error.value)
        named = '' if value in error.reason else f' = {value}'
        self.assertEqual(
            f'{error.key}{named}{where}: {error.reason}; '
            f'allowed: {error.allowed}',
            text,
        )
        self.assertNotEqual('', error.allowed)
        self.assertTrue(text.isascii() and text.isprintable(), repr(text))
        # Values are truncated, which limits the length of a message.
        self.assertLess(len(text), 1000)
