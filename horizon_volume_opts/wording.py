# SPDX-License-Identifier: Apache-2.0

"""The texts of forms and pages, marked for translation.

The texts use the terms of the documentation. Names of librbd are not
translated.
"""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import phrasing
from horizon_volume_opts import qos
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import registry

UNAVAILABLE = _(
    'RBD volume options are currently not available, because Cinder did not '
    'return the options of the volume types. The volume gets the defaults of '
    'its type.'
)

#: Instead of the fields, while the script of a form gets no response.
FAILED = _(
    'The RBD volume options are currently not available, so they cannot be '
    'checked here. Cinder checks them when you submit the form.'
)

ATTACH_UNAVAILABLE = _(
    'The cache mode cannot be selected at the moment, because Cinder did not '
    'return the options of the volume types. An attachment gets the current '
    'cache mode of the volume.'
)

#: Error of a field whose value cannot be checked.
UNCHECKED = _(
    'Cinder did not return the options of the volume types, so this '
    'value cannot be checked. Try again later, or select the default.'
)

NO_SOURCE = _(
    'The source of the volume is not available, so its options are not known.'
)

INVALID_ANSWER = _(
    'the response of Cinder for this volume type is invalid; ask an '
    'administrator'
)

NO_ANSWER = _('Cinder did not return the options of this volume type')

NO_OPTIONS = _('no RBD volume options')


def reason(text: str | None) -> str:
    """Return why a volume type has no options, in the user's language.

    :param text: the reason in Cinder's response
    """
    # The catalogue has the texts of the rules.
    return gettext(text) if text else str(NO_OPTIONS)


def label(key: str) -> str:
    """Return the label of a key, in the user's language."""
    option = registry.OPTIONS.get(key)
    return phrasing.in_words(option.title) if option else key


_IN_BYTES = _('A number of bytes, or with a unit, such as 100M.')


def short_help(key: str) -> str:
    """Return what an option is, in one sentence."""
    option = registry.OPTIONS[key]
    text = phrasing.sentence(option.summary)
    if option.when_to_use:
        text = phrasing.in_words(option.when_to_use)
    text = f'{text.partition(". ")[0].removesuffix(".")}.'
    return f'{text} {_IN_BYTES}' if option.is_rate else text


def choices(option: definitions.Option) -> list[tuple[str, str]]:
    """Return the choices of an option, each with its explanation."""
    return [
        (choice, f'{choice}: {phrasing.in_words(explanation)}')
        for choice, explanation in option.choices.items()
    ]


#: What each feature does, in the order of forms.
FEATURES: dict[str, Any] = {
    features.LAYERING: _('Copy-on-write clones. Always enabled.'),
    features.EXCLUSIVE_LOCK: _(
        'Only one client at a time writes to the image.'
    ),
    features.OBJECT_MAP: _('Records which objects exist.'),
    features.FAST_DIFF: _(
        'Fast comparison of snapshots. Enabled together with object-map.'
    ),
    features.DEEP_FLATTEN: _(
        'Flattening a clone also detaches its snapshots from the parent.'
    ),
    features.JOURNALING: _(
        'Writes go to a journal first, for mirroring. Slows down writes.'
    ),
}

#: Names for all keys of a kind, in the list of those that tenants may set.
FAMILIES: dict[str, Any] = {
    'rbd:layout': _('Layout'),
    'rbd:limits': _('Limits on reads and writes'),
}

ORIGINS: dict[errors.Origin, Any] = {
    errors.Origin.VOLUME_METADATA: _('requested for this volume'),
    errors.Origin.VOLUME_TYPE: _('set by the volume type'),
    errors.Origin.SOURCE_VOLUME: _('same as the source'),
    errors.Origin.BACKEND: _('set by the back end'),
    errors.Origin.GLANCE_IMAGE: _('same as the image'),
    errors.Origin.CLUSTER: _('set by Ceph'),
}

BLANK = _('Default')

YES = _('Yes')
NO = _('No')


def value_of(key: str, value: Any) -> str:
    """Return a value of an option, in the user's language.

    :param value: a parsed value, as in responses
    """
    option = registry.OPTIONS[key]
    if isinstance(value, bool):
        return str(YES if value else NO)
    if option.value_type is definitions.ValueType.SIZE or option.is_rate:
        return qos.amount(str(value), is_size=True)
    if option.value_type is definitions.ValueType.COUNT:
        return qos.amount(str(value), is_size=False)
    return definitions.as_text(value)


def default(
    value: Any, origin: errors.Origin | None, key: str | None = None
) -> str:
    """Return the text for a default and its origin.

    :param key: the key that has the default
    """
    if value is None:
        return phrasing.in_words(
            registry.OPTIONS[key].unset if key else str(BLANK)
        )
    if key:
        value = value_of(key, value)
    if origin is None:
        return str(_('Default: %(value)s') % {'value': value})
    return str(
        _('Default: %(value)s (%(origin)s)')
        % {'value': value, 'origin': ORIGINS[origin]}
    )
