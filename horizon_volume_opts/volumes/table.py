# SPDX-License-Identifier: Apache-2.0

"""Additions to the tables of volumes: layout and change of the cache mode."""

from collections.abc import Callable
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from horizon import tables
from openstack_dashboard import policy
from openstack_dashboard.dashboards.admin.volumes import tables as admin_stock
from openstack_dashboard.dashboards.admin.volumes import views as admin_views
from openstack_dashboard.dashboards.project.volumes import tables as stock
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import conf
from horizon_volume_opts import discovery
from horizon_volume_opts import volume_attributes
from horizon_volume_opts.volumes import change_options
from horizon_volume_opts.volumes import changeable
from horizon_volume_opts.volumes import details
from rbd_volume_options import registry


class ChangeOptions(policy.PolicyTargetMixin, tables.LinkAction):
    """Opens the form for the options that a volume can change."""

    name = 'rbd_options'
    verbose_name = _('Change RBD Options')
    url = f'horizon:project:volumes:{change_options.URL_NAME}'
    classes = ('ajax-modal',)
    icon = 'pencil'
    policy_rules = (('volume', 'volume:update_volume_metadata'),)
    policy_target_attrs = (('project_id', 'os-vol-tenant-attr:tenant_id'),)

    def allowed(self, request: Any, volume: Any = None) -> bool:
        """Return whether the volume has an option that can be changed.

        That is a volume with a record of its RBD image, and any other volume
        whose type offers such an option.
        """
        if volume is None or volume.status not in ('available', 'in-use'):
            return False
        options = [
            each
            for each in registry.changeable()
            if not changeable.is_shared(each, volume)
        ]
        if volume_attributes.of_volume(volume).state is not None:
            return bool(options)
        try:
            offer = discovery.of_type(request, volume.volume_type)
        except discovery.Unavailable:
            return False
        return offer is not None and any(
            changeable.reason_of(each, offer) is None for each in options
        )


class AdminChangeOptions(ChangeOptions):
    """The same action in the dashboard of administrators."""

    url = f'horizon:admin:volumes:{change_options.URL_NAME}'


def _reasons(dashboard: str) -> Callable[[Any], str | None]:
    """Return a function for the link of a cell, to the reasons of refusals."""

    def link(volume: Any) -> str | None:
        if not volume_attributes.of_volume(volume).refusals:
            return None
        page = reverse(f'horizon:{dashboard}:volumes:detail', args=[volume.id])
        return f'{page}?tab=volume_details__{details.RBDTab.slug}'

    return link


class ActionTable(stock.VolumesTable):
    """The stock table with an additional action.

    This is a subclass, because the columns of the stock class are shared with
    tables that inherit from it.
    """

    class Meta(stock.VolumesTable.Meta):
        """Options of the stock table."""

        row_actions = (*stock.VolumesTable.Meta.row_actions, ChangeOptions)


class VolumesTable(ActionTable):
    """The stock table with an additional column and action."""

    rbd_layout = tables.Column(
        details.in_brief,
        verbose_name=_('RBD Layout'),
        link=_reasons('project'),
        classes=('rbd-layout',),
    )

    class Meta(ActionTable.Meta):
        """Options of the table with the action."""


class AdminActionTable(admin_stock.VolumesTable):
    """The table of administrators with an additional action."""

    class Meta(admin_stock.VolumesTable.Meta):
        """Options of the stock table."""

        row_actions = (
            *admin_stock.VolumesTable.Meta.row_actions,
            AdminChangeOptions,
        )


class AdminVolumesTable(AdminActionTable):
    """The table of administrators with an additional column and action."""

    rbd_layout = tables.Column(
        details.in_brief,
        verbose_name=_('RBD Layout'),
        link=_reasons('admin'),
        classes=('rbd-layout',),
    )

    class Meta(AdminActionTable.Meta):
        """Options of the stock table."""

        columns = (*admin_stock.VolumesTable.Meta.columns, 'rbd_layout')


def use_table() -> None:
    """Use the tables in Horizon's views; a hook."""
    change_options.add_pages()
    if conf.get(conf.LAYOUT_COLUMN):
        views.VolumesView.table_class = VolumesTable
        admin_views.VolumesView.table_class = AdminVolumesTable
    else:
        views.VolumesView.table_class = ActionTable
        admin_views.VolumesView.table_class = AdminActionTable
    # The views of details name these classes when they render their menu.
    stock.VolumesTable = ActionTable
    admin_stock.VolumesTable = AdminActionTable
