# SPDX-License-Identifier: Apache-2.0

"""The stock forms for extra specs, with changes only for our keys."""

from collections.abc import Sequence
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.utils.translation import gettext_lazy as _
from horizon import forms
from horizon import messages
from openstack_dashboard import api
from openstack_dashboard.dashboards.admin.volume_types.extras import views
import openstack_dashboard.dashboards.admin.volume_types.extras.forms as stock

from horizon_volume_opts import discovery
from horizon_volume_opts import failures
from horizon_volume_opts import refusals
from horizon_volume_opts.type_specs import guide
from horizon_volume_opts.type_specs import widgets
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry

_UNREAD = _(
    'Cinder did not return the extra specs of the volume type: %(reason)s. '
    'Try again.'
)
_UNSAVED = _('Cinder did not save the extra spec: %(reason)s')

# Lets the script of forms move to the first field with an error.
_MARK = {'data-rbd-form': ''}


def _is_ours(key: str) -> bool:
    return key.startswith(keys.PREFIX)


def _data_pools(request: Any, type_id: str) -> Sequence[str] | None:
    """Return the data pools that a type can use; None if unknown."""
    try:
        offer = discovery.of_ident(request, type_id)
    except discovery.Unavailable:
        return None
    return offer.data_pools if offer else None


class _Checked:
    """Common base of both forms: checks our keys and saves them."""

    request: Any
    initial: dict[str, Any]
    add_error: Any
    cleaned_data: dict[str, Any]

    def clean(self) -> dict[str, Any]:
        """Check the keys and values; show a failure of Cinder in the form.

        Both the stock form and ours read the extra specs of the type.
        """
        try:
            super().clean()  # type: ignore[misc]
            self._check_ours(self.cleaned_data)
        except failures.OF_CINDER as error:
            self.add_error(None, _UNREAD % {'reason': error})
        return self.cleaned_data

    def _check_ours(self, data: dict[str, Any]) -> None:
        """Check one of our keys together with the type's extra specs."""
        raise NotImplementedError()

    def _check(self, specs: dict[str, str]) -> errors.OptionError | None:
        """Return the error in the type's resulting extra specs, or None.

        Only our keys are checked, because a volume type can have extra specs
        of other drivers.
        """
        stored = api.cinder.volume_type_extra_get(
            self.request, self.initial['type_id'], raw=True
        )
        try:
            options.parse(
                {**stored, **specs},
                keys.Scope.TYPE,
                errors.Origin.VOLUME_TYPE,
            )
        except errors.OptionError as error:
            return error
        return None

    def _save(self, specs: dict[str, str], done: Any) -> bool:
        """Save in one request; show a refusal of Cinder at the field.

        Cinder also checks the back ends that the type may use, which are not
        known here.
        """
        try:
            api.cinder.volume_type_extra_set(
                self.request, self.initial['type_id'], specs
            )
        except cinder_exceptions.BadRequest as error:
            # Cinder's message has the key after an introduction.
            named = [key for key in specs if f'{key} = ' in error.message]
            _, *rest = specs
            field = 'partner' if rest and named == rest else 'value'
            self.add_error(field, error.message)
            return False
        except failures.OF_CINDER as error:
            self.add_error(None, _UNSAVED % {'reason': error})
            return False
        messages.success(self.request, done % ', '.join(specs))
        return True


def _text(error: errors.OptionError) -> str:
    """Return a message with the key, which can be another one of the type."""
    return f'{error.key} = {refusals.of_error(error).text}'


class CreateExtraSpec(_Checked, stock.CreateExtraSpec):
    """Suggests our keys, checks them and sets a pair in one request."""

    partner = forms.CharField(
        max_length=255,
        required=False,
        label=_('Value of the other striping key'),
        widget=widgets.Explained(
            _(
                'rbd:stripe_unit and rbd:stripe_count must be set together. '
                'If the key is one of them, enter the value of the other one '
                'here.'
            ),
            {'class': 'rbd-partner', **_MARK},
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        key = self.fields['key']
        key.widget = widgets.KeyPick(
            key.widget.attrs,
            _data_pools(self.request, self.initial['type_id']),
        )
        self.specs: dict[str, str] = {}

    def _check_ours(self, data: dict[str, Any]) -> None:
        key, value = data.get('key'), data.get('value')
        if not key or value is None:
            return
        self.specs = {key: value}
        other = registry.partner(key)
        if partner := data.get('partner'):
            if other is None:
                self.add_error(
                    'partner',
                    _(
                        'Only allowed if the key is rbd:stripe_unit or '
                        'rbd:stripe_count.'
                    ),
                )
                return
            self.specs[other] = partner
        if _is_ours(key) and (error := self._check(self.specs)):
            self.add_error(self._field_of(error, key), _text(error))

    @staticmethod
    def _field_of(error: errors.OptionError, key: str) -> str:
        if key not in guide.entries():
            return 'key'
        other = registry.partner(key)
        # The partner's value is refused, or it is missing.
        missing = other is not None and other in error.reason
        return 'partner' if missing or error.key == other else 'value'

    def handle(self, request: Any, data: dict[str, Any]) -> Any:
        """Save the key and its partner."""
        if not _is_ours(data['key']):
            return super().handle(request, data)
        return self._save(self.specs, _('Created extra spec "%s".'))


class EditExtraSpec(_Checked, stock.EditExtraSpec):
    """Shows the allowed values of our keys and checks them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        entry = guide.entries().get(self.initial.get('key', ''))
        if entry:
            value, pools = self.fields['value'], None
            if entry.key == keys.DATA_POOL:
                pools = _data_pools(self.request, self.initial['type_id'])
            attrs = {**value.widget.attrs, **_MARK}
            value.widget = widgets.ValuePick(entry, attrs, pools)

    def _check_ours(self, data: dict[str, Any]) -> None:
        key, value = self.initial['key'], data.get('value')
        if (
            _is_ours(key)
            and value is not None
            and (error := self._check({key: value}))
        ):
            self.add_error('value', _text(error))

    def handle(self, request: Any, data: dict[str, Any]) -> Any:
        """Save the value."""
        key = self.initial['key']
        if not _is_ours(key):
            return super().handle(request, data)
        return self._save({key: data['value']}, _('Saved extra spec "%s".'))


def use_forms() -> None:
    """Use the forms in Horizon's views; a hook."""
    views.CreateView.form_class = CreateExtraSpec
    views.EditView.form_class = EditExtraSpec
    if not hasattr(views.EditView, '_populate_context'):
        # form_invalid of stock Horizon calls this method, which does not
        # exist: a refused value would cause an internal server error.
        views.EditView.form_invalid = forms.ModalFormView.form_invalid
