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

"""A column with the layout of each volume, if the operator enables it."""

from django.utils.translation import gettext_lazy as _
from horizon import tables
from openstack_dashboard.dashboards.project.volumes import tables as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import conf
from horizon_volume_opts.volumes import details


class VolumesTable(stock.VolumesTable):
    """The stock table with an additional column.

    This is a subclass, because the columns of the stock class are shared with
    tables that inherit from it.
    """

    rbd_layout = tables.Column(details.in_brief, verbose_name=_('RBD Layout'))

    class Meta(stock.VolumesTable.Meta):
        """Options of the stock table."""


def use_table() -> None:
    """Use the table in Horizon's view, if it is enabled; a hook."""
    if conf.get(conf.LAYOUT_COLUMN):
        views.VolumesView.table_class = VolumesTable
