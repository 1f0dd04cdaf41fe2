# SPDX-License-Identifier: Apache-2.0

"""The deletion of extra specs: a striping pair is deleted as one.

Cinder refuses to delete only one of the two keys. Horizon's API deletes keys
one by one, for the table and for *Update Metadata*; the function is wrapped
once, when the application starts.
"""

import functools
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.admin.volume_types.extras import tables
from openstack_dashboard.dashboards.admin.volume_types.extras import views

from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_options import wire


def _deleting_pairs(stock_delete: Any) -> Any:
    @functools.wraps(stock_delete)
    def volume_type_extra_delete(
        request: Any, type_id: str, names: list[str]
    ) -> Any:
        first, second = keys.STRIPE_UNIT, keys.STRIPE_COUNT
        if not {first, second} <= set(names):
            return stock_delete(request, type_id, names)
        cinder.cinderclient(request).client.delete(
            f'/types/{type_id}/extra_specs/{first}?{wire.WITH_PARTNER}=true'
        )
        left = set(names) - {first}
        # Without our API extension, Cinder has deleted the first key only.
        specs = cinder.volume_type_extra_get(request, type_id, raw=True)
        if second not in specs:
            left.discard(second)
        return stock_delete(request, type_id, sorted(left))

    return volume_type_extra_delete


class ExtraSpecDelete(tables.ExtraSpecDelete):
    """The stock action; of a pair, it deletes both keys."""

    def delete(self, request: Any, obj_id: str) -> None:
        """Delete an extra spec, and its partner.

        :raises HandledException: after it has shown Cinder's refusal
        """
        type_id = self.table.kwargs['type_id']
        specs = cinder.volume_type_extra_get(request, type_id, raw=True)
        partner = registry.partner(obj_id)
        names = [each for each in (obj_id, partner) if each in specs]
        if partner and obj_id not in specs:
            # Both were selected; this one was deleted with the other.
            return
        try:
            cinder.volume_type_extra_delete(request, type_id, names)
        except cinder_exceptions.BadRequest as error:
            exceptions.handle(
                request, error.message, escalate=True, details=''
            )


class ExtraSpecsTable(tables.ExtraSpecsTable):
    """The stock table with our action."""

    class Meta(tables.ExtraSpecsTable.Meta):
        """Options of the stock table."""

        table_actions = (tables.ExtraSpecCreate, ExtraSpecDelete)
        row_actions = (tables.ExtraSpecEdit, ExtraSpecDelete)

    def get_object_display(self, datum: Any) -> str:
        """Return the keys that are deleted with a row, for all messages.

        The question and the message of success name each selected row so.
        """
        partner = registry.partner(datum.key)
        if partner not in {each.key for each in self.data or ()}:
            return str(datum.key)
        both = _('%(key)s and %(partner)s')
        return str(both % {'key': datum.key, 'partner': partner})


def use_table() -> None:
    """Delete pairs as one, and use the table in Horizon's view; a hook.

    :raises AttributeError: if Horizon does not have the function
    """
    cinder.volume_type_extra_delete = _deleting_pairs(
        cinder.volume_type_extra_delete
    )
    views.IndexView.table_class = ExtraSpecsTable
