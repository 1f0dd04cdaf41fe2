# SPDX-License-Identifier: Apache-2.0

"""The columns of the list."""

from collections.abc import Callable
import dataclasses
from typing import Any

from django.utils.translation import gettext_lazy as _

from horizon_volume_opts import layouts
from horizon_volume_opts import wording
from horizon_volume_opts.admin_images import chart
from horizon_volume_opts.admin_images import findings
from horizon_volume_opts.admin_images import images
from rbd_volume_options import wire


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the list.

    :ivar name: of the cells
    :ivar text: what a cell has; empty if it is unknown
    :ivar brief: what it shows on the page, if that is shorter
    :ivar is_always: whether it is shown even if all of its cells are empty
    """

    name: str
    label: Any
    text: Callable[[images.Image], Any]
    brief: Callable[[images.Image], Any] | None = None
    is_always: bool = False


_MAPS: dict[images.MapState, Any] = {
    images.MapState.VALID: _('valid'),
    images.MapState.UNCHECKED: wording.YES,
    images.MapState.NONE: wording.NO,
    images.MapState.INVALID: _('invalid'),
    images.MapState.UNKNOWN: '',
}


COLUMNS: tuple[Column, ...] = (
    Column(
        'name',
        _('Volume'),
        lambda image: image.title,
        is_always=True,
    ),
    Column('project', _('Project'), lambda image: image.project),
    Column('size', _('Size (GiB)'), lambda image: image.size),
    Column('type', _('Volume Type'), lambda image: image.volume_type),
    Column(
        'layout',
        _('Layout'),
        lambda image: (
            image.image_layout and layouts.in_words(image.image_layout)
        ),
    ),
    Column(
        'map',
        _('Object Map'),
        lambda image: chart.STATES[image.map_state][0],
        lambda image: _MAPS[image.map_state],
    ),
    Column('pool', _('Pool of Cinder'), lambda image: image.pool),
    Column('data_pool', _('Data Pool of Ceph'), lambda image: image.data_pool),
    Column(
        'findings',
        _('Findings'),
        lambda image: findings.labels(image.findings),
    ),
)


OF_FINDINGS: tuple[tuple[str, Any], ...] = (
    (wire.AUDIT_KIND, _('Kind')),
    (wire.AUDIT_POOL, _('Pool of Ceph')),
    (wire.AUDIT_IMAGE, _('RBD Image')),
    (wire.AUDIT_DETAIL, _('Details')),
)
