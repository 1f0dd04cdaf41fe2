# SPDX-License-Identifier: Apache-2.0

"""The Create Volume form with layout and image features."""

from collections.abc import Mapping
import logging
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.views import generic
from openstack_dashboard.api.rest import urls
from openstack_dashboard.api.rest import utils
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import packing
from horizon_volume_opts import refusals
from horizon_volume_opts import rest
from horizon_volume_opts import source
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import group
from horizon_volume_opts.volumes import passed_metadata
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import sizes
from rbd_volume_options import wire

LOG = logging.getLogger(__name__)

_TEMPLATE = 'horizon_volume_opts/_volume_options.html'

#: The fields of the stock form for each kind of source.
_SOURCE_ALLOWED = _('a volume without RBD volume options; or try again')
_SOURCE_FIELDS = {
    'snapshot_source': source.SNAPSHOT,
    'volume_source': source.VOLUME,
}


def options_group(
    members: Mapping[str, Any], by_type: Mapping[str, offers.UserOffer]
) -> group.GroupField:
    """Return the field that shows the fields of a form.

    :param members: the fields of the form
    :param by_type: the offers by type name; empty if they are not available
    """
    context = {'sources': rest.sources_url()}
    if by_type:
        # Scripts need no description of an option that depends on no other
        # and has no field. There are many, such as limits.
        wanted = tuple(
            key
            for key in fields.kinds()
            if fields.name_of(key) in members
            or not registry.OPTIONS[key].is_plain
        )
        context['data'] = packing.attribute(packing.packed(by_type, wanted))
    return group.GroupField(members, _TEMPLATE, context)


class CreateForm(group.GroupedForm, stock.CreateForm):
    """The stock form with the fields that the listed types offer."""

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self._offers: Mapping[str, offers.UserOffer] = {}
        self._asked: passed_metadata.Asked | None = None
        self._metadata: dict[str, str] = {}
        self._is_unavailable = False
        try:
            listed = [name for name, _text in self.fields['type'].choices]
            self._offers = discovery.by_type(
                request, list(filter(None, listed))
            )
        except discovery.Unavailable:
            self._is_unavailable = True
        settable = frozenset[str]().union(
            *(offer.settable for offer in self._offers.values())
        )
        # Values that the user chose earlier must not disappear if they are no
        # longer offered: each is honoured or refused at its field.
        posted = fields.posted(self.data)
        if self._is_unavailable and not posted:
            self.set_warning(wording.UNAVAILABLE)
        self._add(fields.of_keys(settable | posted))

    def _add(self, members: Mapping[str, Any]) -> None:
        if not members and not self._offers:
            return
        self.fields.update(members)
        self.group(options_group(members, self._offers), after='size')

    def clean(self) -> Any:
        """Check the requested options with the known data."""
        data = super().clean()
        self._metadata = fields.metadata(data)
        features = fields.name_of(keys.FEATURES)
        if data.get(features) and not data.get(fields.CHOOSE_FEATURES):
            self.add_error(fields.CHOOSE_FEATURES, wording.NOT_CHOSEN)
        if self._is_unavailable:
            for key in self._metadata:
                self.add_error(fields.name_of(key), wording.UNCHECKED)
        elif self._metadata:
            try:
                self._check(data)
            except errors.OptionError as error:
                self._show(refusals.of_error(error))
        return data

    def _check(self, data: Mapping[str, Any]) -> None:
        name, state = data.get('type') or self._default_type(), None
        if origin := self._source(data):
            name, state = origin.volume_type, origin.state
        offer = self._offers.get(name or '')
        if offer is None:
            offer = offers.UserOffer(
                name or '', str(_('the volume type has no RBD volume options'))
            )
        size = data.get('size')
        offer.check(self._metadata, size and size * sizes.GIB, state)

    def _default_type(self) -> str | None:
        name: str | None = self.initial.get('type')
        return name

    def _source(self, data: Mapping[str, Any]) -> source.Source | None:
        """Return the source that determines the volume type, if any.

        :raises OptionError: if the lookup fails
        """
        chosen = data.get('volume_source_type')
        for name, kind in _SOURCE_FIELDS.items():
            if data.get(name) and chosen in ('', None, name):
                try:
                    return source.find(self.request, kind, data[name])
                except Exception as error:
                    LOG.warning(
                        'Could not get the %s of a new volume: %s', name, error
                    )
                    key = min(self._metadata)
                    raise errors.OptionError(
                        key,
                        self._metadata[key],
                        str(_('the source of the volume is not available')),
                        str(_SOURCE_ALLOWED),
                    ) from error
        return None

    def handle(self, request: Any, data: Any) -> Any:
        """Create the volume with the requested options."""
        if not self._metadata:
            return super().handle(request, data)
        with passed_metadata.asking(request, self._metadata) as self._asked:
            return super().handle(request, data)

    def api_error(self, message: str) -> None:
        """Show a refusal at its field, and other errors as stock Horizon."""
        if self._asked and self._asked.refusal:
            self._show(self._asked.refusal)
        else:
            super().api_error(message)

    def _show(self, refusal: refusals.Refusal) -> None:
        name = fields.name_of(refusal.key or '')
        if name in self.fields:
            self.add_error(name, refusal.text)
        else:
            text = f'{refusal.key} = {refusal.text}'
            super().api_error(text if refusal.key else refusal.text)


class OptionsForm(generic.View):
    """The same fields, for the dialogue that creates a volume of an image.

    The dialogue has the volume type and the size, and sends the request.
    """

    url_regex = rf'{wire.DASHBOARD_ROUTE}form/$'

    @utils.ajax()
    def get(self, request: Any) -> Any:
        """Return the group of fields as HTML; see `rest.Types`."""
        try:
            by_type = discovery.by_type(request, request.GET.getlist('named'))
        except discovery.Unavailable:
            return utils.JSONResponse('unavailable', rest.UNAVAILABLE)
        form = forms.Form()
        settable = (offer.settable for offer in by_type.values())
        form.fields.update(fields.of_keys(frozenset().union(*settable)))
        form.fields[group.NAME] = options_group({**form.fields}, by_type)
        return str(form[group.NAME])


def use_form() -> None:
    """Use the form in Horizon's view; a hook.

    This fails before the form is used if the metadata of the form cannot be
    passed to Cinder. Otherwise the form would create volumes without the
    chosen options.
    """
    passed_metadata.carry_metadata()
    urls.register(OptionsForm)
    views.CreateView.form_class = CreateForm
