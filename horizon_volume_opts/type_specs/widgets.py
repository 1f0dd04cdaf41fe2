# SPDX-License-Identifier: Apache-2.0

"""Text fields with suggestions and help.

The help is text on the page. Stock Horizon shows help texts only while the
mouse is on an icon.
"""

from collections.abc import Sequence
from typing import Any

from django import forms

from horizon_volume_opts import wording
from horizon_volume_opts.type_specs import guide
from rbd_volume_options import features
from rbd_volume_options import keys


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


class Explained(forms.TextInput):
    """A text field with help.

    :param text: the help
    """

    template_name = 'horizon_volume_opts/type_specs/explained.html'

    def __init__(self, text: Any, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self.text = text

    def get_context(
        self, name: str, value: Any, attrs: dict[str, Any]
    ) -> dict[str, Any]:
        """Add the help."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        widget = context['widget']
        widget['text'] = self.text
        widget['described'] = f'{widget["attrs"].get("id", name)}_help'
        widget['attrs']['aria-describedby'] = widget['described']
        return context


class KeyPick(Pick):
    """The field for the key; suggests and explains our keys.

    :param data_pools: the pools for ``rbd:data_pool``; None if unknown
    """

    template_name = 'horizon_volume_opts/type_specs/key_pick.html'

    def __init__(
        self,
        attrs: dict[str, Any] | None = None,
        data_pools: Sequence[str] | None = None,
    ) -> None:
        entries = guide.entries().values()
        super().__init__(
            [(entry.key, entry.summary) for entry in entries],
            {
                **(attrs or {}),
                # Used by the script of the form.
                'class': 'rbd-key',
                'data-pair': ' '.join((keys.STRIPE_UNIT, keys.STRIPE_COUNT)),
            },
        )
        self.data_pools = data_pools

    def get_context(
        self, name: str, value: Any, attrs: dict[str, Any]
    ) -> dict[str, Any]:
        """Add our keys and their help."""
        context = super().get_context(name, value, attrs)
        described = f'{context["widget"]["list"]}_help'
        context['widget']['attrs']['aria-describedby'] = described
        context['widget']['described'] = described
        context['widget']['entries'] = guide.entries().values()
        context['widget'].update(_boxes())
        context['widget'].update(_pools(self.data_pools))
        return context


class ValuePick(Pick):
    """The field for the value of one of our keys, with its help.

    :param data_pools: the pools for ``rbd:data_pool``; None if unknown
    """

    template_name = 'horizon_volume_opts/type_specs/value_pick.html'

    def __init__(
        self,
        entry: guide.Entry,
        attrs: dict[str, Any] | None = None,
        data_pools: Sequence[str] | None = None,
    ) -> None:
        super().__init__([(choice, '') for choice in entry.choices], attrs)
        self.entry = entry
        self.data_pools = data_pools

    def get_context(
        self, name: str, value: Any, attrs: dict[str, Any]
    ) -> dict[str, Any]:
        """Add the help of the key."""
        context = super().get_context(name, value, attrs)
        widget = context['widget']
        widget['described'] = f'{widget["attrs"].get("id", name)}_help'
        widget['attrs']['aria-describedby'] = widget['described']
        widget['entry'] = self.entry
        widget.update(_boxes())
        widget.update(_pools(self.data_pools))
        return context


def _pools(names: Sequence[str] | None) -> dict[str, Any]:
    """Return the data pools for a list."""
    return {'pools_key': keys.DATA_POOL, 'pools': names}


def _boxes() -> dict[str, Any]:
    """Return the image features for check boxes."""
    return {
        'features_key': keys.FEATURES,
        'required_features': features.LAYERING,
        'features': [
            (name, text, ', '.join(features.FEATURES[name].requires))
            for name, text in wording.FEATURES.items()
            if name != features.LAYERING
        ],
    }
