# SPDX-License-Identifier: Apache-2.0

"""Forms that attach a volume, with the cache mode of the attachment."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
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
from horizon_volume_opts import guard
from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
from horizon_volume_opts import rest
from horizon_volume_opts import source
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import changeable
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
        if each.step is volume_attributes.Step.ATTACHMENT:
            return str(_LAST_REFUSED % {'reason': each.reason})
    return None


def _mode_field(choice: changeable.Choice, posted: str | None) -> Any:
    """Return the field for the modes of a volume.

    :param posted: a value that is always in the list
    """
    listed = changeable.choices(OPTION, choice.offer)
    if posted and posted not in dict(listed):
        listed.append((posted, posted))
    return changeable.field(OPTION, listed, choice.before)


class ModeForm(group.GroupedForm):
    """A mixin for a stock form: the cache mode, where it can be selected."""

    request: Any
    initial: dict[str, Any]
    fields: dict[str, Any]
    data: Mapping[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._by_type: Mapping[str, offers.UserOffer] = {}
        self._is_unavailable = False
        self._change: tuple[str, str, str] | None = None
        with guard.stock_page('the attachment of volumes'):
            self._discover()
            self.add_mode()

    def _discover(self) -> None:
        names = {each.volume_type for each in self.volumes()}
        try:
            self._by_type = discovery.by_type(self.request, names - {None, ''})
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

    def volumes(self) -> list[Any]:
        """Return the volumes that can be attached."""
        raise NotImplementedError()

    def add_mode(self) -> None:
        """Add the field."""
        raise NotImplementedError()

    @property
    def posted(self) -> str | None:
        """The mode in the request; None if the page did not have the field."""
        text = self.data.get(FIELD)
        return None if text is None else str(text).strip()

    def choice_of(self, volume: Any) -> changeable.Choice:
        """Return the choice for a volume."""
        return changeable.Choice.of(OPTION, volume, self._by_type)

    def chosen(self, data: Mapping[str, Any]) -> Any:
        """Return the volume to attach, by the cleaned data; or None."""
        raise NotImplementedError()

    def clean(self) -> Any:
        """Check the mode against the offer of the volume type."""
        data = super().clean()  # type: ignore[misc]
        if self.posted is None:
            return data
        try:
            self._check(self.chosen(data), self.posted)
        except Exception:
            # Whatever happened here, the mode must not be lost.
            LOG.exception('Could not check the cache mode of an attachment')
            self._refuse(str(wording.UNCHECKED))
        return data

    def _check(self, volume: Any, wanted: str) -> None:
        if volume is None:
            return
        choice = self.choice_of(volume)
        before = choice.before or ''
        self._change = volume.id, before, wanted
        if wanted == before:
            return
        if self._is_unavailable and wanted:
            self._refuse(str(wording.UNCHECKED))
            return
        try:
            choice.check(wanted)
        except errors.OptionError as error:
            self._refuse(refusals.of_error(error).text)

    def _refuse(self, text: str) -> None:
        name = FIELD if FIELD in self.fields else None
        self.add_error(name, text)  # type: ignore[attr-defined]

    def handle(self, request: Any, data: Any) -> Any:
        """Set the mode if it changes, then attach the volume."""
        if self._change is None:
            return super().handle(request, data)  # type: ignore[misc]
        try:
            with _applied(request, *self._change):
                return super().handle(request, data)  # type: ignore[misc]
        except cinder_exceptions.ClientException as error:
            # Stock code does not let exceptions of clients pass.
            refusal = refusals.read(error)
            self._refuse(refusal.text if refusal else str(error))
            return False


class AttachForm(ModeForm):
    """A mixin for the form Manage Attachments of a volume."""

    def add_mode(self) -> None:
        """Add the field, and why the last attachment was refused."""
        for volume in self.volumes():
            if self.posted is None and (refusal := last_refusal(volume)):
                self.set_warning(refusal)  # type: ignore[attr-defined]
            choice = self.choice_of(volume)
            if self.posted or choice.is_possible:
                self.fields[FIELD] = _mode_field(choice, self.posted)
                self.group(group.GroupField([FIELD]), after='instance')

    def volumes(self) -> list[Any]:
        """Return the volume of the page, if it could be read."""
        volume = self.initial.get('volume')
        return [] if volume is None else [volume]

    def chosen(self, data: Mapping[str, Any]) -> Any:
        """Return the volume of the page."""
        return next(iter(self.volumes()), None)


class InstanceForm(ModeForm):
    """A mixin for the form Attach Volume of an instance.

    The group shows the modes of the selected volume.
    """

    def add_mode(self) -> None:
        """Add the field, if a listed volume offers it."""
        possible = [
            volume
            for volume in self.volumes()
            if self.choice_of(volume).is_possible
        ]
        if not (possible or self.posted):
            return
        volume = self.chosen(self.data)
        choice = volume and self.choice_of(volume)
        shown = []
        self.fields[FIELD] = changeable.field(OPTION, [('', '')], None)
        if choice and (self.posted or choice.is_possible):
            self.fields[FIELD] = _mode_field(choice, self.posted)
            shown = [FIELD]
        self.group(
            group.GroupField(
                [FIELD], shown, url=rest.address(Modes), names=['volume']
            ),
            after='volume',
        )

    def volumes(self) -> list[Any]:
        """Return the volumes of the list."""
        return list(self.initial.get('volume_list') or ())

    def chosen(self, data: Mapping[str, Any]) -> Any:
        """Return the selected volume."""
        wanted = data.get('volume')
        return next(
            (each for each in self.volumes() if each.id == wanted), None
        )


class Modes(rest.Fragment):
    """The cache modes of a volume."""

    url_regex = r'rbd_volume_options/cache-modes/$'

    def answer(self, request: Any) -> dict[str, Any]:
        """Return the field, or nothing if no mode can be selected."""
        form = forms.Form()
        if ident := request.GET.get('volume'):
            volume = source.volume(request, ident)
            names = [volume.volume_type] if volume.volume_type else []
            choice = changeable.Choice.of(
                OPTION, volume, discovery.by_type(request, names)
            )
            if choice.is_possible:
                form.fields[FIELD] = _mode_field(choice, None)
        return {'html': group.render(form, form.fields)}


@contextlib.contextmanager
def _applied(
    request: Any, volume_id: str, before: str | None, wanted: str
) -> Iterator[None]:
    """Attach a volume with a mode, in the body of this context.

    If the body fails, the volume gets its former mode again.

    :param wanted: empty for the default
    :raises ClientException: if Cinder refuses the mode
    """
    if wanted == (before or ''):
        yield
        return
    _set(request, volume_id, wanted)
    try:
        yield
    except Exception:
        _put_back(request, volume_id, before)
        raise


def _put_back(request: Any, volume_id: str, before: str | None) -> None:
    """Restore the mode of a volume that was not attached.

    The stock forms also fail if they attached the volume but could not read it
    afterwards. Then the attachment may still need the mode.
    """
    try:
        if cinder.volume_get(request, volume_id).status == _AVAILABLE:
            _set(request, volume_id, before or '')
    except Exception:
        LOG.exception(
            'Could not restore the former cache mode of volume %s', volume_id
        )


def _set(request: Any, volume_id: str, mode: str) -> None:
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
