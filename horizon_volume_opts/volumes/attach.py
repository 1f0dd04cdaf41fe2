# SPDX-License-Identifier: Apache-2.0

"""Forms that attach a volume, with the cache mode of the attachment."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import logging
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.project.instances import forms as servers
from openstack_dashboard.dashboards.project.instances import views as pages
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import packing
from horizon_volume_opts import refusals
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

_NOT_OFFERED = _('The cache mode cannot be selected: %(reason)s.')
_LAST_REFUSED = _('The last attachment of the volume was refused: %(reason)s')
_ROWS = 'horizon_volume_opts/_rows.html'
_OF_CHOSEN = 'horizon_volume_opts/_cache_mode.html'


def last_refusal(volume: Any) -> str | None:
    """Return why the last attachment of a volume was refused, if it was."""
    for each in volume_attributes.of_volume(volume).refusals:
        if each.step is volume_attributes.Step.ATTACHMENT:
            return str(_LAST_REFUSED % {'reason': each.reason})
    return None


class ModeForm(group.GroupedForm):
    """A stock form with the field, if a listed volume offers it."""

    request: Any
    data: Mapping[str, Any]
    found: Mapping[str, offers.UserOffer]

    def volumes(self) -> list[Any]:
        """Return the volumes that can be attached."""
        raise NotImplementedError()

    def discover(self) -> Mapping[str, offers.UserOffer]:
        """Return the offers of the types of the listed volumes, by name."""
        self.is_unavailable = False
        names = {each.volume_type for each in self.volumes()}
        try:
            return discovery.by_type(self.request, names - {None, ''})
        except discovery.Unavailable:
            self.is_unavailable = True
            if self.posted is None:
                # A value that was sent gets an error at its field.
                self.set_warning(  # type: ignore[attr-defined]
                    wording.ATTACH_UNAVAILABLE
                )
            return {}

    @property
    def posted(self) -> str | None:
        """The mode in the request; None if the page did not have the field."""
        text = self.data.get(FIELD)
        return None if text is None else str(text).strip()

    def chosen(self, data: Mapping[str, Any]) -> Any:
        """Return the volume to attach, by the cleaned data; or None."""
        raise NotImplementedError()

    def clean(self) -> Any:
        """Check the mode against the offer of the volume type."""
        data = super().clean()  # type: ignore[misc]
        volume = self.chosen(data)
        self._wanted = self.posted
        self._volume_id = volume and volume.id
        if volume is None:
            return data
        choice = changeable.Choice.of(OPTION, volume, self.found)
        self._before = choice.before
        if self._wanted is None:
            self._wanted = choice.before or ''
        elif self.is_unavailable and self._wanted not in (
            '',
            choice.before or '',
        ):
            self._refuse(str(wording.UNCHECKED))
        else:
            try:
                choice.check(self._wanted)
            except errors.OptionError as error:
                self._refuse(refusals.of_error(error).text)
        return data

    def _refuse(self, text: str) -> None:
        self.add_error(FIELD, text)  # type: ignore[attr-defined]

    def handle(self, request: Any, data: Any) -> Any:
        """Set the mode if it changes, then attach the volume."""
        ident, before, wanted = self._volume_id, self._before, self._wanted
        try:
            with _applied(request, ident, before, wanted or ''):
                return super().handle(request, data)  # type: ignore[misc]
        except cinder_exceptions.ClientException as error:
            # Stock code does not let exceptions of clients pass.
            refusal = refusals.read(error)
            self._refuse(refusal.text if refusal else str(error))
            return False


class AttachForm(ModeForm, stock.AttachForm):
    """The form Manage Attachments of a volume."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.found = self.discover()
        for volume in self.volumes():
            self._warn(last_refusal(volume))
            choice = changeable.Choice.of(OPTION, volume, self.found)
            if self.posted is None and not self.found:
                continue
            if self.posted is None and choice.reason:
                text = _NOT_OFFERED % {'reason': choice.reason}
                self.group(group.Note(text), after='instance')
            else:
                self._add(choice)

    def _warn(self, refusal: str | None) -> None:
        """Show why the last attachment was refused, above the form."""
        if refusal and self.posted is None:
            others = [wording.ATTACH_UNAVAILABLE] * self.is_unavailable
            self.set_warning(' '.join(map(str, [*others, refusal])))

    def _add(self, choice: changeable.Choice) -> None:
        name = FIELD
        listed = changeable.choices(OPTION, choice.offer)
        if self.posted and self.posted not in dict(listed):
            listed.append((self.posted, self.posted))
        self.fields[name] = changeable.field(OPTION, listed, choice.before)
        if choice.is_shared:
            self.fields[name].help_text = choice.shared_text
            self.fields[name].disabled = True
        self.group(group.GroupField([name], _ROWS), after='instance')

    def volumes(self) -> list[Any]:
        """Return the volume of the page, if it could be read."""
        volume = self.initial.get('volume')
        return [] if volume is None else [volume]

    def chosen(self, data: Mapping[str, Any]) -> Any:
        """Return the volume of the page."""
        return next(iter(self.volumes()), None)


class InstanceForm(ModeForm, servers.AttachVolume):
    """The form Attach Volume of an instance.

    The script of the form shows the modes of the selected volume.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.found = self.discover()
        if not self.found and self.posted is None:
            return
        listed = [('', str(wording.BLANK))]
        if self.posted:
            listed.append((self.posted, self.posted))
        name = FIELD
        self.fields[name] = changeable.field(OPTION, listed, None)
        context = {}
        if self.found:
            context['data'] = packing.attribute(self._described())
        self.group(
            group.GroupField([name], _OF_CHOSEN, context), after='volume'
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

    def _described(self) -> dict[str, Any]:
        """Return the data of the script: what each listed volume has.

        A list can have hundreds of volumes. Each distinct list of modes, each
        text and each combination of them is there once. Volumes have the
        number of their combination, in the order of the list.
        """
        lists = packing.Distinct()
        notes = packing.Distinct()
        kinds = packing.Distinct()
        by_id = {each.id: each for each in self.volumes()}
        listed = [
            kinds.number(_kind(by_id[ident], self.found, lists, notes))
            for ident, _text in self.fields['volume'].choices
            if ident in by_id
        ]
        return {
            'lists': lists.values,
            'notes': notes.values,
            'kinds': kinds.values,
            'volumes': listed,
        }


def _kind(
    volume: Any,
    by_type: Mapping[str, offers.UserOffer],
    lists: packing.Distinct,
    notes: packing.Distinct,
) -> list[Any]:
    """Return the numbers of a volume's modes and its note, and its mode.

    A volume has modes or a note.
    """
    choice = changeable.Choice.of(OPTION, volume, by_type)
    note = None
    if choice.reason:
        note = str(_NOT_OFFERED % {'reason': choice.reason})
    elif choice.is_shared:
        note = choice.shared_text
    if note:
        return [None, notes.number(note), choice.before]
    listed = changeable.choices(OPTION, choice.offer)
    modes = lists.number([[mode, str(label)] for mode, label in listed])
    return [modes, None, choice.before]


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
    """Use the forms in Horizon's views; a hook."""
    views.EditAttachmentsView.form_class = AttachForm
    views.EditAttachmentsView.form_invalid = _show_again
    pages.AttachVolumeView.form_class = InstanceForm
