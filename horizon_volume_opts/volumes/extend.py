# SPDX-License-Identifier: Apache-2.0

"""The form Extend Volume with the sizes that the layout allows."""

import functools
from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import phrasing
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
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


class ExtendForm(group.StockForm):
    """A mixin for the stock form, with a line if sizes are restricted."""

    errors: Any
    _made: volume_attributes.Made | None = None

    def extend(self) -> None:
        """Add the line."""
        volume = self.initial.get(_VOLUME)
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
                'stripe': phrasing.striping(state.layout),
            }
            self.group(
                group.GroupField(content=lambda: group.note(text)),
                after=_FIELD,
            )

    @property
    def _step(self) -> int:
        """The GiB that hold whole stripes; 1 for any size."""
        if self._made is None or self._made.state is None:
            return 1
        striping = self._made.origins.get(keys.STRIPING)
        if striping not in errors.GIVEN:
            return 1
        return operator_limits.whole_stripes_step(self._made.state.layout)

    def check(self, data: Any) -> None:
        """Check the size against the limit of librbd.

        The other limits are those of the back end that holds the volume. The
        offer is that of all back ends of the volume type.
        """
        state, size = self._made and self._made.state, data.get(_FIELD)
        if state and size and _FIELD not in self.errors:
            try:
                operator_limits.check_object_map(
                    state.layout, size * sizes.GIB, state.image_features
                )
            except errors.OptionError as error:
                self.show_error(_FIELD, refusals.of_error(error).text)

    def refuse(self, refusal: refusals.Refusal, data: Any) -> None:
        """Show a refusal at the size."""
        text, size = refusal.text, data.get(_FIELD)
        # No other rule for sizes is about this key.
        if refusal.key == keys.STRIPE_COUNT and self._step > 1 and size:
            below = size // self._step * self._step
            text = _NO_MULTIPLE % {
                'size': size,
                'step': self._step,
                'below': below,
                'above': below + self._step,
            }
        self.show_error(_FIELD, str(text))


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
