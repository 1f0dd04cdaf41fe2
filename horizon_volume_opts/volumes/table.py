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

"""A column with each volume's layout, where the operator asks for it."""

from django.utils.translation import gettext_lazy as _
from horizon import tables
from openstack_dashboard.dashboards.project.volumes import tables as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import conf
from horizon_volume_opts.volumes import details


class VolumesTable(stock.VolumesTable):
    """Stock's table with one column more.

    A subclass, which the view is told to use: the columns of the stock class
    are shared with tables that inherit from it.
    """

    rbd_layout = tables.Column(details.in_brief, verbose_name=_('RBD Layout'))

    class Meta(stock.VolumesTable.Meta):
        """As stock's."""


def use_table() -> None:
    """Have Horizon's view use the table, where it is asked for; a hook."""
    if conf.get(conf.LAYOUT_COLUMN):
        views.VolumesView.table_class = VolumesTable
