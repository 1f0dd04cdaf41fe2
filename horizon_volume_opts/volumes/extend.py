# SPDX-License-Identifier: Apache-2.0

"""The form Extend Volume with the sizes that the layout allows."""

import functools
from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import guard
from horizon_volume_opts import layouts
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
from horizon_volume_opts import requests_to_cinder
from horizon_volume_opts import volume_attributes
from horizon_volume_opts.volumes import group
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import operator_limits
from rbd_volume_options import sizes

_FIELD = 'new_size'
_VOLUME = 'rbd_volume'
_STEP = _(
    'The size may have to be a multiple of %(step)s GiB, such as %(next)s '
    'GiB, because a stripe is %(stripe)s.'
)
_NO_MULTIPLE = _(
    '%(size)s GiB is not a multiple of %(step)s GiB; allowed: %(below)s or '
    '%(above)s GiB'
)


class ExtendForm(group.GroupedForm):
    """A mixin for the stock form, with a line if sizes are restricted."""

    request: Any
    initial: dict[str, Any]
    fields: dict[str, Any]
    errors: Any

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)  # type: ignore[call-arg]
        self._made: volume_attributes.Made | None = None
        with guard.stock_page('Extend Volume'):
            self._add_step(self.initial.get(_VOLUME))

    def _add_step(self, volume: Any) -> None:
        if volume is None:
            return
        self._made = volume_attributes.of_volume(volume)
        state, step = self._made.state, self._step
        if state is None or step == 1:
            return
        try:
            offer = discovery.of_type(self.request, volume.volume_type)
        except discovery.Unavailable:
            # Cinder checks the size.
            return
        # An offer with a reason says nothing about the back end.
        if offer and offer.reason is None and offer.require_whole_stripes:
            text = _STEP % {
                'step': step,
                'next': (volume.size // step + 1) * step,
                'stripe': layouts.striping(state.layout),
            }
            self.group(group.Note(text), after=_FIELD)

    @property
    def _step(self) -> int:
        """The GiB that hold whole stripes; 1 for any size."""
        if self._made is None or self._made.state is None:
            return 1
        striping = self._made.origins.get(keys.STRIPING)
        if striping not in errors.GIVEN:
            return 1
        return operator_limits.whole_stripes_step(self._made.state.layout)

    def clean(self) -> Any:
        """Check the size against the limit of librbd.

        The other limits are those of the back end that holds the volume. The
        offer is that of all back ends of the volume type.
        """
        data = super().clean()  # type: ignore[misc]
        with guard.stock_page('Extend Volume'):
            self._check(data.get(_FIELD))
        return data

    def _check(self, size: int | None) -> None:
        state = self._made and self._made.state
        if not state or not size or _FIELD in self.errors:
            return
        try:
            operator_limits.check_object_map(
                state.layout, size * sizes.GIB, state.image_features
            )
        except errors.OptionError as error:
            self._refuse(refusals.of_error(error).text)

    def handle(self, request: Any, data: Any) -> Any:
        """Extend the volume; show a refusal at the field."""
        try:
            with requests_to_cinder.submitting(request):
                return super().handle(request, data)  # type: ignore[misc]
        except requests_to_cinder.RefusedRequest as refused:
            self._refuse(self._in_words(refused.refusal, data.get(_FIELD)))
            return False

    def _refuse(self, text: str) -> None:
        name = _FIELD if _FIELD in self.fields else None
        self.add_error(name, text)  # type: ignore[attr-defined]

    def _in_words(self, refusal: refusals.Refusal, size: Any) -> str:
        # No other rule for sizes is about this key.
        if refusal.key != keys.STRIPE_COUNT or self._step == 1 or not size:
            return refusal.text
        below = size // self._step * self._step
        values = {
            'size': size,
            'step': self._step,
            'below': below,
            'above': below + self._step,
        }
        return str(_NO_MULTIPLE % values)


def _with_volume(stock_method: Any) -> Any:
    """Return a method that also passes the volume of the view to the form."""

    @functools.wraps(stock_method)
    def get_initial(view: Any) -> Any:
        return {**stock_method(view), _VOLUME: view.get_object()}

    return get_initial


def use_form() -> None:
    """Extend the form of Horizon's view; a hook."""
    views.ExtendView.get_initial = _with_volume(views.ExtendView.get_initial)
    replacements.extend_form(views.ExtendView, ExtendForm)
