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

"""The page: a chart, two tables and the age of the numbers."""

import datetime
import hashlib
from typing import Any
from typing import ClassVar

from django import shortcuts
from django.core import cache
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import tables

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import chart
from horizon_volume_opts.admin_images import sources
from horizon_volume_opts.admin_images import tables as image_tables

#: Seconds for which the census is cached.
CACHED = 300
# Increase this when the format of the cached values changes.
_CACHE_VERSION = 1

#: Commands for the operator, each with its purpose.
COMMANDS: tuple[tuple[str, Any], ...] = (
    (
        'cinder-rbd-ext types ensure --dry-run',
        _(
            'lists the RBD back ends that have no volume type, and the types '
            'that would be created for them, with an object map by default.'
        ),
    ),
    (
        'openstack volume set --type <type> <volume>',
        _(
            'retypes a volume. A type with the extra spec '
            'rbd:object_map=true adds an object map to its image.'
        ),
    ),
    (
        'openstack volume rbd show <volume>',
        _('shows the layout, features and cache mode of a volume.'),
    ),
)


class IndexView(tables.MultiTableView):
    """Shows a cached census, and counts again on request."""

    table_classes = (
        image_tables.MapsTable,
        image_tables.LayoutsTable,
    )
    template_name = 'horizon_volume_opts/admin_images/index.html'
    page_title = _('RBD Images')
    source_class: ClassVar[type[sources.Source]] = sources.AttributesSource

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.source = self.source_class()
        if self.source.knows_invalid:
            self.table_classes = (
                image_tables.AuditedMapsTable,
                image_tables.LayoutsTable,
            )
        self._census: census.Census | None = None
        super().__init__(*args, **kwargs)

    # Content of the page.

    def get_maps_data(self) -> list[census.MapRow]:
        """Return the rows of the first table."""
        return self._found().map_rows()

    def get_layouts_data(self) -> list[census.LayoutRow]:
        """Return the rows of the second table."""
        return self._found().layout_rows()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the chart and the data about the census."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        found = self._found()
        context['census'] = found
        context['taken'] = (
            datetime.datetime.fromisoformat(found.taken)
            if found.taken
            else None
        )
        context['chart'] = chart.draw(found.map_rows())
        context['source'] = self.source
        context['commands'] = COMMANDS
        return context

    # Counting and caching.

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Count again from the beginning, or continue to count."""
        if 'refresh' in request.POST:
            cache.cache.delete(self._key())
        elif 'more' in request.POST:
            self._count(self._cached())
        else:
            return super().post(request, *args, **kwargs)
        return shortcuts.redirect(request.path)

    def _found(self) -> census.Census:
        """Return the census; it is read once per request."""
        if self._census is None:
            self._census = self._cached() or self._count()
        return self._census

    def _key(self) -> str:
        # Each region of each Keystone has its own Cinder.
        user = self.request.user
        where = f'{user.endpoint} {user.services_region}'
        # memcached does not accept spaces or long keys.
        digest = hashlib.sha256(where.encode()).hexdigest()
        slug = self.source.slug
        return f'rbd_volume_options:{_CACHE_VERSION}:{slug}:{digest}'

    def _cached(self) -> census.Census | None:
        values = cache.cache.get(self._key())
        return census.Census.of_plain(values) if values else None

    def _count(self, found: census.Census | None = None) -> census.Census:
        try:
            found = self.source.read(self.request, found)
        except Exception:
            exceptions.handle(
                self.request, _('Unable to count the RBD images.')
            )
            # Not cached; an unfinished count starts again.
            cache.cache.delete(self._key())
            return census.Census('')
        cache.cache.set(self._key(), found.plain(), CACHED)
        return found
