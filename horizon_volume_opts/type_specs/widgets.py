# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Text fields with suggestions and help."""

from collections.abc import Sequence
from typing import Any

from django import forms

from horizon_volume_opts.type_specs import guide


class Pick(forms.TextInput):
    """A text field with a list of suggestions, shown by the browser."""

    template_name = 'horizon_volume_opts/type_specs/pick.html'

    def __init__(
        self,
        suggestions: Sequence[tuple[str, Any]],
        attrs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(attrs)
        self.suggestions = suggestions

    def get_context(
        self, name: str, value: Any, attrs: dict[str, Any]
    ) -> dict[str, Any]:
        """Add the list, and its name as an attribute of the field."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        widget = context['widget']
        if self.suggestions:
            listed = f'{widget["attrs"].get("id", name)}_suggestions'
            widget['attrs']['list'] = listed
            widget['list'] = listed
            widget['suggestions'] = self.suggestions
        return context


class KeyPick(Pick):
    """The field for the key; suggests and explains our keys."""

    template_name = 'horizon_volume_opts/type_specs/key_pick.html'

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        entries = guide.ENTRIES.values()
        super().__init__(
            [(entry.key, entry.summary) for entry in entries],
            {
                **(attrs or {}),
                # Used by the script of the form.
                'class': 'rbd-key',
                'data-pair': ' '.join(guide.PAIR),
            },
        )

    def get_context(
        self, name: str, value: Any, attrs: dict[str, Any]
    ) -> dict[str, Any]:
        """Add our keys and their help."""
        context = super().get_context(name, value, attrs)
        described = f'{context["widget"]["list"]}_help'
        context['widget']['attrs']['aria-describedby'] = described
        context['widget']['described'] = described
        context['widget']['entries'] = guide.ENTRIES.values()
        return context
