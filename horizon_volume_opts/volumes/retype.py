# SPDX-License-Identifier: Apache-2.0

"""The form Change Volume Type with the effect of each volume type."""

from collections.abc import Iterator
from collections.abc import Mapping
import functools
from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import packing
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import effects
from horizon_volume_opts.volumes import group
from horizon_volume_opts.volumes import refusing
from rbd_volume_options import errors
from rbd_volume_options import options
from rbd_volume_options import sizes

_VOLUME = 'rbd_volume'
_TYPE = 'volume_type'
_POLICY = 'migration_policy'
_TEMPLATE = 'horizon_volume_opts/_effects.html'

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


class RetypeForm(group.GroupedForm, stock.RetypeForm):
    """The stock form with a line about the selected volume type."""

    initial: dict[str, Any]

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        volume = self.initial.get(_VOLUME)
        names = [name for name, _text in self.fields[_TYPE].choices if name]
        try:
            by_type = discovery.by_type(request, names)
        except discovery.Unavailable:
            self.group(group.Note(_UNAVAILABLE), after=_TYPE)
            return
        if volume is None or not by_type:
            return
        data = packing.attribute(_described(volume, names, by_type))
        field = group.GroupField((), _TEMPLATE, {'data': data})
        self.group(field, after=_TYPE)

    def handle(self, request: Any, data: Any) -> Any:
        """Change the type; show a refusal at a field."""
        try:
            with refusing.showing(request):
                return super().handle(request, data)
        except refusing.RefusedRequest as refused:
            text = refused.refusal.text
            # Cinder names the parameter of its API that allows a migration.
            self.add_error(_POLICY if _POLICY in text else _TYPE, text)
            return False


def _described(
    volume: Any, names: list[str], by_type: Mapping[str, offers.UserOffer]
) -> dict[str, Any]:
    """Return the data of the script: sentences, and their numbers by type.

    Most types have the same sentences.
    """
    texts = packing.Distinct()
    types = {
        name: [
            texts.number(str(each))
            for each in _effects(volume, by_type.get(name))
        ]
        for name in names
        if name != volume.volume_type
    }
    return {'texts': texts.values, 'types': types}


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


def _with_volume(stock_method: Any) -> Any:
    """Return a method that also passes the volume of the view to the form."""

    @functools.wraps(stock_method)
    def get_initial(view: Any) -> Any:
        return {**stock_method(view), _VOLUME: view.get_data()}

    return get_initial


def use_form() -> None:
    """Use the form in Horizon's view; a hook."""
    refusing.wrap('volume_retype')
    views.RetypeView.get_initial = _with_volume(views.RetypeView.get_initial)
    views.RetypeView.form_class = RetypeForm
