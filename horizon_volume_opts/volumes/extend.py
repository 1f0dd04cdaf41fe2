# SPDX-License-Identifier: Apache-2.0

"""The form Extend Volume with the sizes that the layout allows."""

from collections.abc import Mapping
import functools
from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import layouts
from horizon_volume_opts import refusals
from horizon_volume_opts import volume_attributes
from horizon_volume_opts.volumes import group
from horizon_volume_opts.volumes import refusing
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import limits
from rbd_volume_options import precedence
from rbd_volume_options import sizes
from rbd_volume_options import whole_stripes

_FIELD = 'new_size'
_VOLUME = 'rbd_volume'
_IMAGE = _('Layout of the volume: %(layout)s.')
_STEP = _(
    'The size may have to be a multiple of %(step)s GiB, such as %(next)s '
    'GiB, because a stripe is %(stripe)s.'
)
_NO_MULTIPLE = _(
    '%(size)s GiB is not a multiple of %(step)s GiB; allowed: %(below)s or '
    '%(above)s GiB'
)
_UNAVAILABLE = _(
    'Cinder did not return the options of the volume type. It checks the size '
    'when you submit the form.'
)
_Given = Mapping[precedence.Part, errors.Origin]


class ExtendForm(group.GroupedForm, stock.ExtendForm):
    """The stock form with a line about the layout."""

    initial: dict[str, Any]

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        volume = self.initial.get(_VOLUME)
        attributes = (
            volume_attributes.of_volume(volume)
            if volume
            else volume_attributes.Made(None, {})
        )
        self._state = attributes.state
        self._given: _Given = {}
        self._is_restricted = False
        if volume is None or self._state is None:
            return
        lines = []
        try:
            offer = discovery.of_type(request, volume.volume_type)
        except discovery.Unavailable:
            offer = None
            lines.append(_UNAVAILABLE)
        # An offer with a reason says nothing about the back end.
        if offer and offer.reason is None:
            self._is_restricted = offer.require_whole_stripes
        self._given = attributes.origins
        lines.insert(0, self._text(self._state.layout, volume.size))
        self.group(group.Note(' '.join(map(str, lines))), after=_FIELD)

    @property
    def _step(self) -> int:
        """The GiB that hold whole stripes; 1 for any size."""
        striping = self._given.get(precedence.Part.STRIPING)
        if self._state is None or striping not in precedence.GIVEN:
            return 1
        return whole_stripes.step(self._state.layout)

    def _text(self, current: layout.ImageLayout, size: int) -> str:
        lines = [str(_IMAGE % {'layout': layouts.in_words(current)})]
        if self._is_restricted and self._step > 1 and current.striping:
            lines.append(
                str(
                    _STEP
                    % {
                        'step': self._step,
                        'next': (size // self._step + 1) * self._step,
                        'stripe': layouts.striping(current),
                    }
                )
            )
        return ' '.join(lines)

    def clean(self) -> Any:
        """Check the size against the limit of librbd.

        The other limits are those of the back end that holds the volume. The
        offer is that of all back ends of the volume type.
        """
        data = super().clean()
        size = data.get(_FIELD)
        if self._state and size and _FIELD not in self.errors:
            try:
                limits.check_object_map(
                    self._state.layout,
                    size * sizes.GIB,
                    self._state.image_features,
                )
            except errors.OptionError as error:
                self.add_error(_FIELD, refusals.of_error(error).text)
        return data

    def handle(self, request: Any, data: Any) -> Any:
        """Extend the volume; show a refusal at the field."""
        try:
            with refusing.showing(request):
                return super().handle(request, data)
        except refusing.RefusedRequest as refused:
            text = self._in_words(refused.refusal, data[_FIELD])
            self.add_error(_FIELD, text)
            return False

    def _in_words(self, refusal: refusals.Refusal, size: int) -> str:
        # No other rule for sizes is about this key.
        if refusal.key != keys.STRIPE_COUNT or self._step == 1:
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
    """Use the form in Horizon's view; a hook."""
    refusing.wrap('volume_extend')
    views.ExtendView.get_initial = _with_volume(views.ExtendView.get_initial)
    views.ExtendView.form_class = ExtendForm
