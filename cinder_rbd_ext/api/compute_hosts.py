# SPDX-License-Identifier: Apache-2.0

"""What compute hosts said about themselves in the connectors of attachments.

Only services can say it (:mod:`cinder_rbd_ext.api.attachments`). A connector
without the item can be that of anybody, so its time is shown apart.
"""

from collections.abc import Iterator
from typing import Any

from cinder.api.openstack import wsgi
from oslo_serialization import jsonutils
from oslo_utils import timeutils
import sqlalchemy as sa

from cinder_rbd_ext import policies
from cinder_rbd_ext import protocols
from cinder_rbd_ext import releases
from rbd_volume_options import compute_hosts

_DB = releases.database()
_ROW = _DB.models.VolumeAttachment


class HostsController(wsgi.Controller):
    """Lists the compute hosts."""

    def index(self, req: protocols.Request) -> dict[str, Any]:
        """Return the hosts of all attachments, also of deleted ones."""
        context = req.environ['cinder.context']
        policies.check(context, policies.GET_HOSTS)
        return {'compute_hosts': list(_hosts(context))}


def _hosts(context: protocols.Context) -> Iterator[dict[str, Any]]:
    with _DB.main_context_manager.reader.using(context):
        heard = dict(_latest(context, has_item=True))
        without = dict(_latest(context, has_item=False))
        for host in sorted({*heard, *without}):
            item = None
            if host in heard:
                item = _item(context, host, heard[host])
            yield {
                'host': host,
                compute_hosts.CONNECTOR_ITEM: item,
                'heard_at': _shown(heard.get(host)),
                'heard_without_plug_in_at': _shown(without.get(host)),
            }


def _is_with_item() -> Any:
    return _ROW.connector.like(f'%"{compute_hosts.CONNECTOR_ITEM}"%')


def _latest(context: Any, has_item: bool) -> Any:
    """Return the time of the last connector of each host."""
    matches = _is_with_item() if has_item else sa.not_(_is_with_item())
    query = (
        sa.select(_ROW.attached_host, sa.func.max(_ROW.updated_at))
        .where(_ROW.attached_host.is_not(None), matches)
        .group_by(_ROW.attached_host)
    )
    return [tuple(row) for row in context.session.execute(query)]


def _item(context: Any, host: str, when: Any) -> Any:
    query = (
        sa.select(_ROW.connector)
        .where(
            _ROW.attached_host == host,
            _ROW.updated_at == when,
            _is_with_item(),
        )
        .limit(1)
    )
    text = context.session.execute(query).scalar()
    return (
        jsonutils.loads(text).get(compute_hosts.CONNECTOR_ITEM)
        if text
        else None
    )


def _shown(when: Any) -> str | None:
    return f'{timeutils.normalize_time(when).isoformat()}Z' if when else None
