# SPDX-License-Identifier: Apache-2.0

"""The form Change Volume Type with the effect of each volume type."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from django.template import loader
from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api.rest import urls
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import guard
from horizon_volume_opts import offers
from horizon_volume_opts import replacements
from horizon_volume_opts import requests_to_cinder
from horizon_volume_opts import rest
from horizon_volume_opts import source
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import effects
from horizon_volume_opts.volumes import group
from rbd_volume_options import errors
from rbd_volume_options import options
from rbd_volume_options import sizes

_TYPE = 'volume_type'
_POLICY = 'migration_policy'

_REMOVED = _(
    'The new volume type does not accept these options, so they are '
    'removed from the volume: %(keys)s.'
)
_NO_OPTIONS = _(
    'The new volume type offers no RBD volume options: %(reason)s.'
)
_LIMITS = _('The new volume type limits the volume to %(limits)s.')
_UNAVAILABLE = _(
    'Cinder did not return the options of the volume types, so this form does '
    'not show what a volume type changes. Cinder checks the change.'
)


class RetypeForm(group.GroupedForm):
    """A mixin for the stock form: the effect of the selected type."""

    request: Any
    initial: dict[str, Any]
    fields: dict[str, Any]
    data: Mapping[str, Any]

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)  # type: ignore[call-arg]
        with guard.stock_page('Change Volume Type'):
            self._add_effects()

    def _add_effects(self) -> None:
        ident = self.initial.get('id')
        if not ident:
            return
        try:
            if not discovery.by_type(self.request):
                return
        except discovery.Unavailable:
            self.group(group.Note(_UNAVAILABLE), after=_TYPE)
            return

        def prepare(field: group.GroupField) -> None:
            name = self.data.get(_TYPE)
            text = effect_text(self.request, ident, name) if name else ''
            field.context = {'text': text}

        field = group.GroupField(
            template=group.NOTE,
            prepare=prepare,
            url=rest.address(Effects, volume=ident),
            names=[_TYPE],
        )
        self.group(field, after=_TYPE)

    def handle(self, request: Any, data: Any) -> Any:
        """Change the type; show a refusal at a field."""
        try:
            with requests_to_cinder.submitting(request):
                return super().handle(request, data)  # type: ignore[misc]
        except requests_to_cinder.RefusedRequest as refused:
            text = refused.refusal.text
            # Cinder names the parameter of its API that allows a migration.
            name = _POLICY if _POLICY in text else _TYPE
            self.add_error(  # type: ignore[attr-defined]
                name if name in self.fields else None, text
            )
            return False


class Effects(rest.Fragment):
    """The effect of a volume type on a volume."""

    url_regex = r'rbd_volume_options/effects/$'

    def answer(self, request: Any) -> dict[str, Any]:
        """Return a line, or nothing without a type."""
        name = request.GET.get(_TYPE)
        text = ''
        if name:
            text = effect_text(request, request.GET.get('volume', ''), name)
        html = loader.render_to_string(group.NOTE, {'text': text})
        return {'html': html.strip()}


def effect_text(request: Any, ident: str, name: str) -> str:
    """Return what a volume type does to a volume; losses come first.

    :raises ClientException: if Cinder does not return the volume
    """
    volume = source.volume(request, ident)
    if name == volume.volume_type:
        return ''
    offer = discovery.of_type(request, name)
    return ' '.join(str(each) for each in _effects(volume, offer))


def _effects(volume: Any, offer: offers.UserOffer | None) -> Iterator[Any]:
    """Yield sentences about a change to a volume type.

    Cinder decides. It also knows limits of the back ends.
    """
    if offer is None:
        yield _NO_OPTIONS % {'reason': wording.NO_ANSWER}
        yield effects.OTHER_BACKEND
        return
    own = dict(options.ours(getattr(volume, 'metadata', None) or {}))
    removed = _removed(own, volume.size, offer)
    if offer.reason:
        yield _NO_OPTIONS % {'reason': offer.reason}
    if removed:
        labels = [str(wording.label(key)) for key in removed]
        yield _REMOVED % {'keys': ', '.join(labels)}
    state = volume_attributes.of_volume(volume).state
    kept = own.keys() - set(removed)
    yield from effects.on_image(state, offer, kept, bool(removed))
    yield from effects.on_options(offer, kept)
    if limits := offer.limits_in_words(kept):
        yield _LIMITS % {'limits': limits}


def _removed(
    own: Mapping[str, str], size: int, offer: offers.UserOffer
) -> list[str]:
    """Return the keys of a volume that a type does not accept."""
    kept = {key: value for key, value in own.items() if key in offer.settable}
    while kept:
        try:
            offer.check(kept, size * sizes.GIB)
            break
        except errors.OptionError as error:
            if kept.pop(error.key, None) is None:
                break
    return sorted(own.keys() - kept.keys())


def use_form() -> None:
    """Extend the form of Horizon's view; a hook."""
    urls.register(Effects)
    replacements.extend_form(views.RetypeView, RetypeForm)
