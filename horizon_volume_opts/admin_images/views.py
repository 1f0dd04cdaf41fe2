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

"""The page: the list of images, a chart and the age of the data."""

from collections.abc import Iterator
import datetime
import hashlib
from typing import Any

from django import http
from django import shortcuts
from django.utils import formats
from django.utils.translation import gettext_lazy as _
from django.views import generic
from horizon import exceptions
from horizon import views
from horizon.utils import functions

from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import chart
from horizon_volume_opts.admin_images import columns
from horizon_volume_opts.admin_images import conversions
from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import listing
from horizon_volume_opts.admin_images import query
from horizon_volume_opts.admin_images import sources
from rbd_volume_options import sizes

# Increase this when the format of the cached values changes.
_CACHE_VERSION = 3
#: Maximum number of listed findings that are not about a volume.
_MOST_FINDINGS = 100

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
        'cinder-rbd-ext retype --from <type> --to <type> --all-projects '
        '--dry-run',
        _(
            'lists the volumes of a type that would be retyped. Without '
            '--dry-run, Cinder retypes them, a few at once.'
        ),
    ),
    (
        'cinder-rbd-ext object-map enable --volumes --dry-run',
        _(
            'lists the volumes that would get an object map, without a '
            'retype. To enable the maps, replace --dry-run by --journal '
            'and a file.'
        ),
    ),
    (
        'openstack volume rbd show <volume>',
        _('shows the layout, features and cache mode of a volume.'),
    ),
)


class _Images:
    """Reads the list, from the cache or from Cinder."""

    request: Any

    def _read(self, found: listing.Listing | None = None) -> listing.Listing:
        try:
            found = sources.read(self.request, found)
        except Exception:
            # The volumes that were read before remain in the cache.
            exceptions.handle(
                self.request, _('Unable to read the RBD images.')
            )
            return found or listing.Listing('')
        listing.store(self._key(), found)
        return found

    def _found(self) -> listing.Listing:
        return listing.load(self._key()) or self._read()

    def _key(self) -> str:
        # Each region of each Keystone has its own Cinder.
        user = self.request.user
        where = f'{user.endpoint} {user.services_region}'
        # memcached does not accept spaces or long keys.
        digest = hashlib.sha256(where.encode()).hexdigest()
        return f'rbd_volume_options:{_CACHE_VERSION}:{digest}'


class IndexView(_Images, views.HorizonTemplateView):
    """Shows the cached list, and reads it again on request."""

    template_name = 'horizon_volume_opts/admin_images/index.html'
    page_title = _('RBD Images')

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the list, its filters and the chart."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        found = self._found()
        asked = query.Query.of(self.request.GET)
        selected = asked.select(found.rbd_images, found.projects)
        context.update(self._page(asked, selected))
        context.update(
            {
                'found': found,
                'taken': _time(found.taken),
                'audited': _time(found.audited),
                'asked': asked,
                'number': len(selected),
                'rows': [
                    (image, list(_cells(image, found)))
                    for image in context['shown']
                ],
                'columns': [
                    (each, asked.sorted_by(each.name))
                    for each in columns.COLUMNS
                ],
                'filters': list(_filters(asked, found)),
                'chart': chart.draw(census.map_rows(selected)),
                'layouts': [
                    (
                        row,
                        sizes.format_size(row.image_layout.object_size),
                        columns.striping(row.image_layout),
                    )
                    for row in census.layout_rows(selected)
                ],
                'other_findings': found.other_findings[:_MOST_FINDINGS],
                'conversions': self._conversions(),
                'commands': COMMANDS,
            }
        )
        return context

    def _conversions(self) -> list[conversions.Conversion]:
        try:
            return conversions.read(self.request)
        except Exception:
            exceptions.handle(
                self.request, _('Unable to read the running conversions.')
            )
            return []

    def _page(
        self, asked: query.Query, selected: list[images.Image]
    ) -> dict[str, Any]:
        size = functions.get_page_size(self.request)
        last = max(1, -(-len(selected) // size))
        page = min(asked.page, last)
        start = (page - 1) * size
        shown = selected[start : start + size]
        return {
            'shown': shown,
            'first': start + 1,
            'until': start + len(shown),
            'previous': asked.address(page=page - 1) if page > 1 else None,
            'next': asked.address(page=page + 1) if page < last else None,
            'has_previous': page > 1,
            'has_next': page < last,
        }

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Start reading again, or continue to read."""
        if 'refresh' in request.POST:
            listing.forget(self._key())
        elif 'more' in request.POST:
            self._read(listing.load(self._key()))
        return shortcuts.redirect(request.path)


class CSVView(_Images, generic.View):
    """The selected images as a CSV file."""

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the file, with the filters of the page."""
        found = self._found()
        asked = query.Query.of(request.GET)
        selected = asked.select(found.rbd_images, found.projects)
        return http.StreamingHttpResponse(
            columns.csv_lines(selected, found.projects),
            content_type='text/csv; charset=utf-8',
            headers={
                'Content-Disposition': 'attachment; filename="rbd-images.csv"'
            },
        )


def _time(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _cells(
    image: images.Image, found: listing.Listing
) -> Iterator[tuple[str, Any]]:
    for column in columns.COLUMNS:
        text = column.text(image)
        if column.name == 'project':
            text = found.projects.get(image.project, image.project)
        elif column.name == 'used' and text:
            text = formats.number_format(text)
        yield column.name, text


def _filters(
    asked: query.Query, found: listing.Listing
) -> Iterator[dict[str, Any]]:
    """Yield the select boxes of the form."""
    labels = {
        'map': _('Object Map'),
        'type': _('Volume Type'),
        'pool': _('Pool of Cinder'),
        'data_pool': _('Data Pool of Ceph'),
        'project': _('Project'),
        'finding': _('Findings'),
    }
    words = {
        **{state.value: each[0] for state, each in chart.STATES.items()},
        **found.projects,
    }
    for name, values in query.choices(found.rbd_images).items():
        if name == 'finding' and values:
            values = [query.ANY, *values]
        if values:
            yield {
                'name': name,
                'label': labels[name],
                'chosen': asked.chosen.get(name, ''),
                'options': [
                    (
                        value,
                        _('any')
                        if value == query.ANY and name == 'finding'
                        else words.get(value, value)
                        if name in ('map', 'project')
                        else value,
                    )
                    for value in values
                ],
            }
