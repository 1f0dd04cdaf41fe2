# SPDX-License-Identifier: Apache-2.0

"""Forms that attach a volume, with the cache mode of the attachment."""

from collections.abc import Mapping
import functools
import logging
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django import forms
from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api import cinder
from openstack_dashboard.api.rest import urls
from openstack_dashboard.dashboards.project.instances import views as pages
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
from horizon_volume_opts import rest
from horizon_volume_opts import source
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import changeable
from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import group
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry

LOG = logging.getLogger(__name__)

#: The option that the forms for attachments set.
OPTION = registry.OPTIONS[keys.CACHE_MODE]
FIELD = 'rbd_cache_mode'
_AVAILABLE = 'available'

_LAST_REFUSED = _('The last attachment of the volume was refused: %(reason)s')


def last_refusal(volume: Any) -> str | None:
    """Return why the last attachment of a volume was refused, if it was."""
    for each in volume_attributes.of_volume(volume).refusals:
        if each.step is volume_attributes.ATTACHMENT:
            return str(_LAST_REFUSED % {'reason': each.reason})
    return None


class ModeForm(group.StockForm):
    """A mixin for a stock form: the cache mode, where it can be selected."""

    #: The field of the stock form before it.
    after: str
    _is_unavailable = False
    _change: tuple[str, str, str] | None = None

    def extend(self) -> None:
        """Add the field, if a volume offers it."""
        # None if the page did not have the field.
        text = self.data.get(FIELD)
        self.posted = None if text is None else str(text).strip()
        self._choices = {v.id: self._choice(v) for v in self.volumes()}
        if self.posted or any(
            choice.reason is None for choice in self._choices.values()
        ):
            self.fields[FIELD] = fields.of_key(OPTION.key, '')
            self.group(self.group_of_mode(), after=self.after)

    @functools.cached_property
    def _by_type(self) -> Mapping[str, offers.UserOffer]:
        names = {each.volume_type for each in self.volumes()}
        try:
            return discovery.by_type(self.request, names - {None, ''})
        except discovery.Unavailable:
            self._is_unavailable = True
            ours = (
                volume_attributes.of_volume(each).state is not None
                for each in self.volumes()
            )
            if self.posted is None and any(ours):
                self.set_warning(  # type: ignore[attr-defined]
                    wording.ATTACH_UNAVAILABLE
                )
            return {}

    def _choice(self, volume: Any) -> changeable.Choice:
        return changeable.Choice(OPTION, volume, self._by_type)

    def volumes(self) -> list[Any]:
        """Return the volumes that can be attached."""
        raise NotImplementedError()

    def selected(self) -> str | None:
        """Return the ID of the volume to attach; None if none is selected."""
        raise NotImplementedError()

    def group_of_mode(self) -> group.GroupField:
        """Return the group with the modes of the selected volume."""
        choice = self._choices.get(self.selected() or '')
        shown = choice and (self.posted or choice.reason is None)
        if choice and shown:
            self.fields[FIELD] = choice.field()
        return group.GroupField([FIELD], None if shown else str)

    def check(self, data: Any) -> None:
        """Check the mode against the offer of the volume type."""
        choice = self._choices.get(self.selected() or '')
        if self.posted is None or choice is None:
            return
        before = choice.before or ''
        self._change = self.selected() or '', before, self.posted
        if self._is_unavailable and self.posted not in ('', before):
            self.show_error(FIELD, str(wording.UNCHECKED))
            return
        try:
            choice.check(self.posted)
        except errors.OptionError as error:
            self.show_error(FIELD, refusals.of_error(error).text)

    def handle(self, request: Any, data: Any) -> Any:
        """Set the mode if it changes, then attach the volume."""
        volume_id, before, wanted = self._change or ('', '', '')
        if wanted == before:
            return super().handle(request, data)
        try:
            _set(request, volume_id, wanted)
            try:
                return super().handle(request, data)
            except Exception:
                _put_back(request, volume_id, before)
                raise
        except cinder_exceptions.ClientException as error:
            # Stock code does not let exceptions of clients pass.
            refusal = refusals.read(error)
            self.show_error(FIELD, refusal.text if refusal else str(error))
            return False


class AttachForm(ModeForm):
    """A mixin for the form Manage Attachments of a volume."""

    after = 'instance'

    def extend(self) -> None:
        """Add the field, and why the last attachment was refused."""
        super().extend()
        for volume in self.volumes():
            if self.posted is None and (refusal := last_refusal(volume)):
                self.set_warning(refusal)  # type: ignore[attr-defined]

    def volumes(self) -> list[Any]:
        """Return the volume of the page, if it could be read."""
        volume = self.initial.get('volume')
        return [] if volume is None else [volume]

    def selected(self) -> str | None:
        """Return the ID of the volume of the page."""
        return next((each.id for each in self.volumes()), None)


class InstanceForm(ModeForm):
    """A mixin for the form Attach Volume of an instance.

    The group shows the modes of the selected volume.
    """

    after = 'volume'

    def volumes(self) -> list[Any]:
        """Return the volumes of the list."""
        return list(self.initial.get('volume_list') or ())

    def selected(self) -> str | None:
        """Return the ID of the selected volume."""
        return self.data.get('volume')

    def group_of_mode(self) -> group.GroupField:
        """Return the group, which follows the selection."""
        field = super().group_of_mode()
        field.url, field.names = rest.address(Modes), 'volume'
        return field


class Modes(rest.Fragment):
    """The cache modes of a volume."""

    url_regex = r'rbd_volume_options/cache-modes/$'

    def answer(self, request: Any) -> dict[str, Any]:
        """Return the field, or nothing if no mode can be selected."""
        form = forms.Form()
        if ident := request.GET.get('volume'):
            volume = source.volume(request, ident)
            names = [volume.volume_type] if volume.volume_type else []
            choice = changeable.Choice(
                OPTION, volume, discovery.by_type(request, names)
            )
            if choice.reason is None:
                form.fields[FIELD] = choice.field()
        return {'html': group.render(form, form.fields)}


def _put_back(request: Any, volume_id: str, before: str) -> None:
    """Restore the mode of a volume that was not attached.

    The stock forms also fail if they attached the volume but could not read it
    afterwards. Then the attachment may still need the mode.
    """
    try:
        if cinder.volume_get(request, volume_id).status == _AVAILABLE:
            _set(request, volume_id, before)
    except Exception:
        LOG.exception(
            'Could not restore the former cache mode of volume %s', volume_id
        )


def _set(request: Any, volume_id: str, mode: str) -> None:
    """Set the mode of a volume; empty for the default.

    :raises ClientException: if Cinder refuses it
    """
    if mode:
        cinder.volume_set_metadata(request, volume_id, {OPTION.key: mode})
    else:
        cinder.volume_delete_metadata(request, volume_id, [OPTION.key])


def _show_again(view: Any, form: Any) -> Any:
    """Show the page again with the errors of the form.

    The stock view uses ``get`` for a form that is not valid. For a valid form
    that could not be handled, it would render the table of attachments without
    loading its data, and fail.
    """
    return view.get(view.request)


def use_forms() -> None:
    """Extend the forms of Horizon's views; a hook."""
    urls.register(Modes)
    replacements.extend_form(views.EditAttachmentsView, AttachForm)
    views.EditAttachmentsView.form_invalid = _show_again
    replacements.extend_form(pages.AttachVolumeView, InstanceForm)
