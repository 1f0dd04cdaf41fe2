# SPDX-License-Identifier: Apache-2.0

"""The form Change Volume Type with the effect of each volume type."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Set
from typing import Any

from django.utils.translation import gettext_lazy as _
from openstack_dashboard.api.rest import urls
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import discovery
from horizon_volume_opts import offers
from horizon_volume_opts import phrasing
from horizon_volume_opts import refusals
from horizon_volume_opts import replacements
from horizon_volume_opts import rest
from horizon_volume_opts import source
from horizon_volume_opts import volume_attributes
from horizon_volume_opts import wording
from horizon_volume_opts.volumes import group
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry
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

_OTHER_BACKEND = _(
    'If the new volume type uses another back end, the volume must be '
    'migrated: select the migration policy On Demand.'
)
_KEPT = _(
    'If the volume stays on its back end, it keeps its layout, its image '
    'features and the options in its metadata.'
)
_OPTIONS = _('The new volume type sets these options: %(options)s.')
_LAYOUT = _('Layout: %(now)s → %(after)s.')
_POOL = _('The new volume type sets another data pool.')
_ENABLES = _('The new volume type adds these image features: %(names)s.')
_DISABLES = _('The new volume type removes these image features: %(names)s.')
_CONVERTS = _(
    'If the volume is detached and has no clones, its data is copied to a new '
    'image, and until the former image is removed, the volume uses its space '
    'twice. Otherwise the volume must be migrated: select the migration '
    'policy On Demand.'
)


class RetypeForm(group.StockForm):
    """A mixin for the stock form: the effect of the selected type."""

    def extend(self) -> None:
        """Add a line for the effect."""
        ident = self.initial.get('id')
        if not ident:
            return
        try:
            if not discovery.by_type(self.request):
                return
        except discovery.Unavailable:
            field = group.GroupField(content=lambda: group.note(_UNAVAILABLE))
        else:
            field = group.GroupField(
                content=lambda: _effect(
                    self.request, ident, self.data.get(_TYPE)
                ),
                url=rest.address(Effects, volume=ident),
                names=[_TYPE],
            )
        self.group(field, after=_TYPE)

    def refuse(self, refusal: refusals.Refusal, data: Any) -> None:
        """Show a refusal at the type or at the migration policy."""
        # Cinder names the parameter of its API that allows a migration.
        name = _POLICY if _POLICY in refusal.text else _TYPE
        self.show_error(name, refusal.text)


class Effects(rest.Fragment):
    """The effect of a volume type on a volume."""

    url_regex = r'rbd_volume_options/effects/$'

    def answer(self, request: Any) -> dict[str, Any]:
        """Return a line, or nothing without a type."""
        ident = request.GET.get('volume', '')
        return {'html': _effect(request, ident, request.GET.get(_TYPE))}


def _effect(request: Any, ident: str, name: str | None) -> str:
    """Return what a volume type does to a volume as HTML; losses come first.

    :raises ClientException: if Cinder does not return the volume
    """
    if not name:
        return ''
    volume = source.volume(request, ident)
    if name == volume.volume_type:
        return ''
    offer = discovery.of_type(request, name)
    return group.note(' '.join(map(str, _effects(volume, offer))))


def _effects(volume: Any, offer: offers.UserOffer | None) -> Iterator[Any]:
    """Yield sentences about a change to a volume type.

    Only what the response of Cinder's extension shows is known here: the
    values that the type itself sets, and not its back ends. Cinder decides.
    """
    if offer is None:
        yield _NO_OPTIONS % {'reason': wording.NO_ANSWER}
        yield _OTHER_BACKEND
        return
    own = dict(options.ours(getattr(volume, 'metadata', None) or {}))
    removed = _removed(own, volume.size, offer)
    kept = own.keys() - set(removed)
    if offer.reason:
        yield _NO_OPTIONS % {'reason': offer.reason}
    if removed:
        labels = [str(wording.label(key)) for key in removed]
        yield _REMOVED % {'keys': ', '.join(labels)}
    state = volume_attributes.of_volume(volume).state
    if state and not offer.reason:
        yield from _on_image(state, offer, kept, bool(removed))
    else:
        yield _OTHER_BACKEND
    # Limits on reads and writes have a sentence of their own.
    values = [
        f'{wording.label(key)}: {wording.value_of(key, offer.default(key))}'
        for key in (o.key for o in registry.changeable() if not o.rules)
        if key not in kept
        and offer.origin(key) is errors.Origin.VOLUME_TYPE
        and offer.default(key) is not None
    ]
    if values:
        yield _OPTIONS % {'options': ', '.join(values)}
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


def _on_image(
    state: options.Values,
    offer: offers.UserOffer,
    kept: Set[str],
    is_changed: bool,
) -> Iterator[Any]:
    """Yield sentences about the image; what the volume loses comes first.

    :param kept: the keys that the volume keeps, which override its type
    :param is_changed: whether keys are removed from the volume
    """
    if kept & {keys.FEATURES, keys.OBJECT_MAP}:
        kept = kept | {keys.FEATURES, keys.OBJECT_MAP}
    wanted = offer.image(state, kept)
    added = wanted.image_features - state.image_features
    removed = state.image_features - wanted.image_features
    # librbd enables the others only on a new image.
    needs_image = bool(added - features.MUTABLE)
    if removed:
        yield _DISABLES % {'names': ', '.join(sorted(removed))}
    if wanted.layout != state.layout:
        yield _LAYOUT % {
            'now': phrasing.layout_in_words(state.layout),
            'after': phrasing.layout_in_words(wanted.layout),
        }
        needs_image = True
    # Only administrators see data pools.
    pool = offer.default(keys.DATA_POOL)
    if offer.origin(
        keys.DATA_POOL
    ) is errors.Origin.VOLUME_TYPE and pool not in (None, state.data_pool):
        yield _POOL
        needs_image = True
    if added:
        yield _ENABLES % {'names': ', '.join(sorted(added))}
    if not (is_changed or needs_image or added or removed):
        yield _KEPT
    yield _CONVERTS if needs_image else _OTHER_BACKEND


def use_form() -> None:
    """Extend the form of Horizon's view; a hook."""
    urls.register(Effects)
    replacements.extend_form(views.RetypeView, RetypeForm)
