# SPDX-License-Identifier: Apache-2.0

"""The form *RBD Options* of a volume type: all of its keys, saved together.

The stock pages for extra specs stay as they are.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import messages
from horizon import tables
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.admin.volume_types import tables as stock
from openstack_dashboard.dashboards.admin.volume_types import urls

from horizon_volume_opts import discovery
from horizon_volume_opts import guard
from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import group
from horizon_volume_opts.volumes import option_forms
from horizon_volume_opts.volumes import table
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry

_TEMPLATE = 'horizon_volume_opts/_type_fields.html'
_OF_TYPE = _(
    'All volumes of this type get these options, unless a tenant may set an '
    'option and does. An option without a value has the default of the back '
    'end.'
)
_KEPT = _('Existing volumes keep their layout, image features and data pool.')
#: The box that stands for an empty list of keys.
_NO_KEYS = 'none'
_ORIGIN = errors.Origin.VOLUME_TYPE
_ALLOWED = _('Allowed: %s.')
_POOLS = _(
    'Do not select the pool of another service, such as that of Glance images '
    'or of the disks of instances.'
)


def _options() -> list[definitions.Option]:
    return [
        option
        for option in registry.OPTIONS.values()
        if keys.Scope.TYPE in option.scopes
    ]


def _help(option: definitions.Option) -> str:
    """Return what an option is, and its values if they are not in a list."""
    text = phrasing.sentence(option.summary)
    if option.key == keys.DATA_POOL:
        return f'{text} {_POOLS}'
    if option.choices or option.value_type in (
        definitions.ValueType.BOOLEAN,
        definitions.ValueType.FEATURES,
        definitions.ValueType.KEYS,
    ):
        return text
    try:
        option.parse(option.invalid)
    except errors.OptionError as error:
        allowed = phrasing.in_words(error.allowed)
        return f'{text} {_ALLOWED % allowed}'
    return text


def _field(
    option: definitions.Option, offer: offers.UserOffer | None, stored: str
) -> Any:
    """Return the field of an option.

    :param offer: the options of the type; None if unknown
    :param stored: the extra spec; empty if it is not set
    """
    key, blank, choices = option.key, str(wording.BLANK), None
    if offer and offer.origin(key) not in (None, _ORIGIN):
        blank = offer.default_text(key)
    if option.value_type in (
        definitions.ValueType.FEATURES,
        definitions.ValueType.KEYS,
    ):
        field: Any = forms.MultipleChoiceField(
            label=wording.label(key),
            required=False,
            widget=forms.CheckboxSelectMultiple,
            choices=_boxes(option, stored),
        )
    else:
        if option.value_type is definitions.ValueType.BOOLEAN:
            choices = [('true', wording.YES), ('false', wording.NO)]
        elif option.choices:
            choices = wording.choices(option)
        elif key == keys.DATA_POOL and offer and offer.data_pools is not None:
            choices = [(pool, pool) for pool in offer.data_pools]
        field = fields.of_key(key, blank, choices)
        field.initial = stored
    field.help_text = _help(option)
    return field


def _boxes(option: definitions.Option, stored: str) -> list[tuple[str, Any]]:
    """Return the items of a list; what is stored always has a box."""
    if option.value_type is definitions.ValueType.FEATURES:
        boxes = {name: f'{name}: {t}' for name, t in wording.FEATURES.items()}
    else:
        families = registry.key_families()
        boxes = {_NO_KEYS: str(_('no options'))}
        boxes |= {name: str(wording.FAMILIES[name]) for name in families}
        boxes |= {
            key: wording.label(key)
            for key in registry.volume_keys()
            if not any(key in own for own in families.values())
        }
    for name in keys.split_list(stored) if stored else ():
        boxes.setdefault(name, name)
    return list(boxes.items())


class TypeOptionsForm(option_forms.OptionsForm):
    """All options of a volume type. An empty field removes the extra spec."""

    description = [('', _OF_TYPE), ('', _KEPT)]

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self._stored: Mapping[str, str] = options.ours(self.initial['specs'])
        self._wanted: dict[str, str] = {}
        try:
            offer = discovery.of_ident(request, self.initial['id'])
        except discovery.Unavailable:
            offer = None
        members = {
            fields.name_of(option.key): _field(
                option, offer, self._stored.get(option.key, '')
            )
            for option in _options()
        }
        self.fields.update(members)
        for key in (keys.FEATURES, keys.TENANT_OPTIONS):
            if key in self._stored:
                words = self._stored[key]
                members[fields.name_of(key)].initial = (
                    keys.split_list(words) if words else [_NO_KEYS]
                )
        self.group(
            group.GroupField(
                members, lambda: group.render(self, members, _TEMPLATE)
            ),
            after='',
        )

    def errors_in(
        self, data: Mapping[str, Any]
    ) -> Iterator[errors.OptionError]:
        """Check all values together, as Cinder does."""
        self._wanted = {
            option.key: text
            for option in _options()
            if (text := self._text(option, data)) is not None
        }
        try:
            options.parse(self._wanted, keys.Scope.TYPE, _ORIGIN)
        except errors.OptionError as error:
            yield error

    def save(self, request: Any, data: Mapping[str, Any]) -> None:
        """Set and delete extra specs."""
        _save(request, self.initial['id'], self._stored, self._wanted)
        messages.success(request, _('Saved the RBD options.'))

    def _text(
        self, option: definitions.Option, data: Mapping[str, Any]
    ) -> str | None:
        """Return the extra spec of an option; None for none."""
        value = data.get(fields.name_of(option.key))
        if not isinstance(value, list):
            return value or None
        before = self._stored.get(option.key)
        if before and set(keys.split_list(before)) == set(value):
            return before
        if value == [_NO_KEYS]:
            return ''
        if value and option.value_type is definitions.ValueType.FEATURES:
            value = list(dict.fromkeys([features.LAYERING, *value]))
        return ','.join(value) or None


def _save(
    request: Any,
    type_id: str,
    stored: Mapping[str, str],
    wanted: Mapping[str, str],
) -> None:
    """Set the changed extra specs in one request, and delete others.

    Nothing is changed if Cinder refuses a value, unless the new values
    contradict those that have to be deleted first.

    :raises ClientException: if Cinder refuses it
    """
    client = cinder.cinderclient(request).client
    path = f'/types/{type_id}/extra_specs'
    changed = {k: v for k, v in wanted.items() if stored.get(k) != v}
    # In this order, what is left after each deletion is valid: stripe count
    # and unit, which are deleted together, before the object size.
    removed = sorted(
        {option.key for option in _options()} & stored.keys() - wanted.keys(),
        reverse=True,
    )

    def add() -> None:
        if changed:
            client.post(path, body={'extra_specs': changed})

    def remove() -> None:
        gone: set[str | None] = set()
        for key in removed:
            if key not in gone:
                client.delete(f'{path}/{key}?with_partner=true')
                gone.add(registry.partner(key))

    try:
        options.parse({**stored, **changed}, keys.Scope.TYPE, _ORIGIN)
    except errors.OptionError:
        remove()
        add()
    else:
        add()
        remove()


class TypeOptionsView(option_forms.OptionsView):
    """The page of the form, and the dialog above the table of types."""

    form_class = TypeOptionsForm
    panel = 'horizon:admin:volume_types'

    def get_initial(self) -> dict[str, Any]:
        """Return the extra specs of the type."""
        ident, specs = self.kwargs['ident'], {}
        try:
            specs = cinder.volume_type_extra_get(self.request, ident, raw=True)
        except Exception:
            exceptions.handle(
                self.request,
                _('Cinder did not return the extra specs of the volume type.'),
                redirect=self.success_url,
            )
        return {'id': ident, 'specs': specs}


class ChangeTypeOptions(tables.LinkAction):
    """Opens the form, for types whose back ends have the options."""

    name = option_forms.URL_NAME
    verbose_name = option_forms.TITLE
    url = f'{TypeOptionsView.panel}:{name}'
    classes = ('ajax-modal',)
    icon = 'pencil'
    policy_rules = (('volume', 'volume_extension:types_manage'),)

    @guard.otherwise(False)
    def allowed(self, request: Any, volume_type: Any = None) -> bool:
        """Return whether the type has the options, as far as is known."""
        try:
            return discovery.of_ident(request, volume_type.id) is not None
        except discovery.Unavailable:
            return False


def add_form() -> None:
    """Add the page, and its link to the rows of Horizon's table; a hook."""
    option_forms.add_page(urls, TypeOptionsView)
    table.add_action(stock.VolumeTypesTable, ChangeTypeOptions)
