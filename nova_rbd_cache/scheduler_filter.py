# SPDX-License-Identifier: Apache-2.0

"""A filter of nova-scheduler for hosts that allow a server's cache modes.

When Nova moves a server, Cinder can refuse an attachment only after Nova has
stopped the guest. The scheduler runs before that. Nova's interface for
filters is public and stable and applies to all operations that select a host.
A refusal has no effect except that no host is selected. Nova's API has no
such interface: a filter in its WSGI pipeline would have to select hosts
itself.

The filter excludes a host only if Cinder would certainly refuse it. If Nova,
Cinder or Placement does not respond, the filter excludes no host, because
Cinder checks each attachment anyway.
"""

from collections.abc import Iterator
from typing import Any

from nova import context as nova_context
from nova import exception
from nova.scheduler import filters
from nova.scheduler import utils
from oslo_log import log as logging

from nova_rbd_cache import server_volumes
from nova_rbd_cache import traits
from nova_rbd_cache.i18n import _
from rbd_volume_options import cache_modes

LOG = logging.getLogger(__name__)


class RBDCacheModeFilter(filters.BaseHostFilter):
    """Excludes hosts that do not allow the cache modes of a server."""

    # Nova's tests compare signatures with those of the stock class, which
    # have no annotations.
    def filter_all(  # type: ignore[no-untyped-def]
        self, filter_obj_list, spec_obj
    ):
        """Return the hosts on which Cinder would attach all volumes.

        :param filter_obj_list: the hosts that passed the previous filters
        :param spec_obj: the request
        :raises NoValidHost: with the reason, if there is none
        """
        hosts = list(filter_obj_list)
        if not hosts or utils.request_is_rebuild(spec_obj):
            # The attachments of a rebuild are never refused.
            return hosts
        try:
            decision = _Decision(spec_obj)
        except Exception as error:
            LOG.warning(
                'Hosts for server %(server)s are selected without the cache '
                'modes of its volumes: %(error)r',
                {'server': spec_obj.instance_uuid, 'error': error},
            )
            return hosts
        passed = [host for host in hosts if not decision.missing(host)]
        if not passed:
            self._refuse(spec_obj, decision.missing(hosts[0]))
        return passed

    def _refuse(self, request: Any, missing: str) -> None:
        LOG.info(
            'No host for server %(server)s: %(missing)s',
            {'server': request.instance_uuid, 'missing': missing},
        )
        if request.num_instances == 1:
            # If a request is for several servers, Nova must release the claims
            # of the others. It does so only if no host is returned.
            raise exception.NoValidHost(reason=missing)


class _Decision:
    """The cache modes that a request requires, and the hosts with them."""

    def __init__(self, request: Any) -> None:
        context = request._context or nova_context.get_admin_context()
        server = server_volumes.find(context, request.instance_uuid)
        self._host = server.host
        self._required = list(
            server_volumes.requirements(
                context, request.instance_uuid, server.volumes
            )
        )
        modes = {mode for each in self._required for mode in each.modes}
        self._nodes = {
            mode: traits.nodes_with(context, mode) for mode in modes
        }

    def missing(self, host: Any) -> str:
        """Return the reason why a host is excluded; empty if it passes."""
        if host.host == self._host:
            # The new attachments keep the modes of the existing ones.
            return ''
        return '; '.join(self._missing(host.uuid))

    def _missing(self, node: str) -> Iterator[str]:
        for each in self._required:
            if not any(node in self._nodes[mode] for mode in each.modes):
                yield _text(each)


def _text(requirement: server_volumes.Requirement) -> str:
    """Return a requirement as a message for the tenant."""
    if not requirement.modes:
        return f'volume {requirement.volume}: {requirement.reason}'
    return _(
        'volume %(id)s requests cache mode %(modes)s, which no suitable '
        'compute host allows'
    ) % {
        'id': requirement.volume,
        'modes': cache_modes.joined(requirement.modes),
    }
