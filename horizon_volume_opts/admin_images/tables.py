# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The two tables of the panel: the numbers of the chart, and layouts."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from horizon import tables

from horizon_volume_opts.admin_images import census
from rbd_volume_options import sizes


def _count(state: census.MapState) -> Any:
    def transform(row: census.MapRow) -> int:
        return row.counts[state]

    return transform


def _object_size(row: census.LayoutRow) -> str:
    return sizes.format_size(row.image_layout.object_size)


def _striping(row: census.LayoutRow) -> Any:
    striping = row.image_layout.striping
    if striping is None:
        return _('none')
    # Translators: such as 64 KiB x 8
    return _('%(unit)s x %(count)d') % {
        'unit': sizes.format_size(striping.unit),
        'count': striping.count,
    }


class MapsTable(tables.DataTable):
    """Object maps by pool and volume type."""

    pool = tables.Column('pool', verbose_name=_('Pool'))
    volume_type = tables.Column(
        lambda row: row.volume_type or None, verbose_name=_('Volume Type')
    )
    total = tables.Column('total', verbose_name=_('Images'), summation='sum')
    valid = tables.Column(
        _count(census.MapState.VALID),
        verbose_name=_('With Object Map'),
        summation='sum',
    )
    none = tables.Column(
        _count(census.MapState.NONE),
        verbose_name=_('Without'),
        summation='sum',
    )
    unknown = tables.Column(
        _count(census.MapState.UNKNOWN),
        verbose_name=_('Not Recorded'),
        summation='sum',
    )

    class Meta:
        """Options of the table; Horizon requires this name."""

        name = 'maps'
        verbose_name = _('Object Maps')
        multi_select = False
        hidden_title = False

    def get_object_id(self, datum: census.MapRow) -> str:
        """Return a unique ID of a row."""
        return f'{datum.pool}/{datum.volume_type}'


class AuditedMapsTable(MapsTable):
    """Object maps from a source that can detect invalid maps."""

    invalid = tables.Column(
        _count(census.MapState.INVALID),
        verbose_name=_('Map Invalid'),
        summation='sum',
    )

    class Meta:
        """Options of the table; Horizon requires this name."""

        name = 'maps'
        verbose_name = _('Object Maps')
        multi_select = False
        hidden_title = False
        columns = (
            *('pool', 'volume_type', 'total'),
            *('valid', 'none', 'invalid', 'unknown'),
        )


class LayoutsTable(tables.DataTable):
    """Layouts in use."""

    object_size = tables.Column(_object_size, verbose_name=_('Object Size'))
    striping = tables.Column(_striping, verbose_name=_('Striping'))
    data_pool = tables.Column(
        lambda row: row.data_pool or None, verbose_name=_('Data Pool')
    )
    count = tables.Column('count', verbose_name=_('Images'), summation='sum')

    class Meta:
        """Options of the table; Horizon requires this name."""

        name = 'layouts'
        verbose_name = _('Layouts in Use')
        multi_select = False
        hidden_title = False

    def get_object_id(self, datum: census.LayoutRow) -> str:
        """Return a unique ID of a row."""
        found = datum.image_layout
        return (
            f'{found.object_size}/{found.stripe_unit}/{found.stripe_count}/'
            f'{datum.data_pool}'
        )
