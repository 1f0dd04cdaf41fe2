# SPDX-License-Identifier: Apache-2.0

"""Texts of messages that another package can translate.

This package imports only the standard library, so it cannot translate. A
phrase is a text in English that keeps what it was made from. The dashboard
translates the template and formats the values in the language of the user.
"""

from __future__ import annotations

from collections.abc import Mapping


class Phrase(str):
    """A text in English, with its template and values.

    :ivar template: names the values in braces; a literal where the phrase is
        made, so that it can be extracted for the catalogues of translations
    :ivar values: what the template names; can contain phrases
    """

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Phrase:
        """Return the phrase for a template and its values."""
        made = super().__new__(cls, template.format(**values))
        made.template = template
        made.values = values
        return made

    def __reduce__(self) -> tuple[object, ...]:
        # The class str would keep only the text.
        return _made, (self.template, dict(self.values))


def _made(template: str, values: Mapping[str, object]) -> Phrase:
    return Phrase(template, **values)
