# SPDX-License-Identifier: Apache-2.0

"""Additions to the tables of volumes: an action and, if wanted, the layout.

The stock classes are extended in place. What a customization module takes off
a table, or adds to it, stays so, and a class that inherits from the table has
the additions, too.
"""

import logging
from typing import Any

from django.core import signals
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from horizon import tables
from openstack_dashboard import policy
from openstack_dashboard.dashboards.admin.volumes import tables as admin_stock
from openstack_dashboard.dashboards.admin.volumes import urls as admin_urls
from openstack_dashboard.dashboards.admin.volumes import views as admin_views
from openstack_dashboard.dashboards.project.volumes import tables as stock
from openstack_dashboard.dashboards.project.volumes import urls
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import conf
from horizon_volume_opts import discovery
from horizon_volume_opts import guard
from horizon_volume_opts import volume_attributes
from horizon_volume_opts.volumes import change_options
from horizon_volume_opts.volumes import changeable
from horizon_volume_opts.volumes import details
from horizon_volume_opts.volumes import option_forms
from rbd_volume_options import registry

LOG = logging.getLogger(__name__)

_COLUMN = 'rbd_layout'
_ACTIONS_COLUMN = 'actions'


class ChangeOptions(policy.PolicyTargetMixin, tables.LinkAction):
    """Opens the form for the options that a volume can change."""

    name = 'rbd_options'
    verbose_name = _('Change RBD Options')
    url = f'horizon:project:volumes:{option_forms.URL_NAME}'
    classes = ('ajax-modal',)
    icon = 'pencil'
    policy_rules = (('volume', 'volume:update_volume_metadata'),)
    policy_target_attrs = (('project_id', 'os-vol-tenant-attr:tenant_id'),)

    @guard.otherwise(False)
    def allowed(self, request: Any, volume: Any = None) -> bool:
        """Return whether the form would have a field.

        A value in the metadata can be removed if it is not allowed.
        """
        if volume is None or volume.status not in ('available', 'in-use'):
            return False
        metadata = getattr(volume, 'metadata', None) or {}
        options = registry.changeable()
        if any(option.key in metadata for option in options):
            return True
        try:
            offer = discovery.of_type(request, volume.volume_type)
        except discovery.Unavailable:
            return False
        by_type = {offer.name: offer} if offer else {}
        return any(
            changeable.Choice(option, volume, by_type).reason is None
            for option in options
        )


class AdminChangeOptions(ChangeOptions):
    """The same action in the dashboard of administrators."""

    url = f'horizon:admin:volumes:{option_forms.URL_NAME}'


def _reasons(dashboard: str) -> Any:
    """Return a function for the link of a cell, to the reasons of refusals."""

    @guard.otherwise(None)
    def link(volume: Any) -> str | None:
        if not volume_attributes.of_volume(volume).refusals:
            return None
        page = reverse(f'horizon:{dashboard}:volumes:detail', args=[volume.id])
        return f'{page}?tab=volume_details__{details.RBDTab.slug}'

    return link


def add_action(table: Any, action: Any) -> None:
    """Add an action to the rows of a table class."""
    table.base_actions[action.name] = action()
    table._meta.row_actions = (*table._meta.row_actions, action)


def add_column(table: Any, dashboard: str) -> None:
    """Add the layout to a table class, before the menus of its rows."""
    column = tables.Column(
        details.in_brief,
        verbose_name=_('RBD Layout'),
        link=_reasons(dashboard),
        classes=('rbd-layout', 'normal_column'),
    )
    column.name = _COLUMN
    table.base_columns[_COLUMN] = column
    if table._meta.columns:
        table._meta.columns = (*table._meta.columns, _COLUMN)
    table._columns[_COLUMN] = column
    if _ACTIONS_COLUMN in table._columns:
        table._columns.move_to_end(_ACTIONS_COLUMN)


def extend_tables() -> None:
    """Extend Horizon's tables; a hook."""
    option_forms.add_page(urls, change_options.ChangeOptionsView)
    option_forms.add_page(admin_urls, change_options.AdminChangeOptionsView)
    for table, action, dashboard in (
        (stock.VolumesTable, ChangeOptions, 'project'),
        (admin_stock.VolumesTable, AdminChangeOptions, 'admin'),
    ):
        add_action(table, action)
        if conf.get(conf.LAYOUT_COLUMN):
            add_column(table, dashboard)
    signals.request_started.connect(report_replaced)


def report_replaced(**kwargs: Any) -> None:
    """Log which pages have other tables, without the action.

    This is done at the first request: by then, customization modules are
    loaded.
    """
    signals.request_started.disconnect(report_replaced)
    for view, action in (
        (views.VolumesView, ChangeOptions),
        (admin_views.VolumesView, AdminChangeOptions),
    ):
        table = view.table_class
        meta = getattr(table, '_meta', None)
        if action not in getattr(meta, 'row_actions', ()):
            LOG.warning(
                'RBD volume options: the table %s.%s has no action %s.%s, '
                'because another plug-in or a customization module replaces '
                'the table',
                *(table.__module__, table.__qualname__),
                *(action.__module__, action.__qualname__),
            )
