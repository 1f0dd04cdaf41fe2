# SPDX-License-Identifier: Apache-2.0

"""The page: the list of images, a chart and the age of the data."""

from collections.abc import Iterator
from collections.abc import Mapping
import datetime
import hashlib
from typing import Any

from django import http
from django import shortcuts
from django import urls
from django.utils import formats
from django.utils import text as text_utils
from django.utils.translation import gettext_lazy as _
from django.views import generic
from horizon import exceptions
from horizon import messages
from horizon import views
from horizon.utils import functions

from horizon_volume_opts import layouts
from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import chart
from horizon_volume_opts.admin_images import columns
from horizon_volume_opts.admin_images import conversions
from horizon_volume_opts.admin_images import findings
from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import listing
from horizon_volume_opts.admin_images import query
from horizon_volume_opts.admin_images import sources

# Increase this when the format of the cached values changes.
_CACHE_VERSION = 4
#: Maximum number of listed findings that are not about a volume.
_MOST_FINDINGS = 100
_PAGE_SIZE = 20
#: Maximum number of characters of a cell.
_LONGEST = 40

#: Commands for the operator, each with its purpose.
_INCOMPLETE = _(
    'The list of RBD images is not complete. Continue reading, then download '
    'the file again.'
)

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
        'cinder-rbd-ext retype --from <type> --to <type> --dry-run',
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

    def _read(self, listed: listing.Listing | None = None) -> listing.Listing:
        """Read the list, or continue to read it."""
        try:
            listed = listed or sources.begin(self.request)
            sources.read(self.request, listed)
        except Exception:
            exceptions.handle(
                self.request, _('Unable to read the RBD images.')
            )
        if listed is None or not (listed.rows or listed.complete):
            return listing.Listing('')
        # Also after an error: the pages that were read need not be read again.
        listing.store(self._key(), listed)
        return listed

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
        listed = self._found()
        terms = query.Query.of(self.request.GET)
        selected = terms.select(listed.rbd_images, listed.projects)
        context.update(self._page(terms, selected))
        context.update(
            {
                'found': listed,
                'taken': _time(listed.taken),
                'audited': _time(listed.audited),
                'asked': terms,
                'number': len(selected),
                'rows': [
                    (image, list(_cells(image, listed)))
                    for image in context['shown']
                ],
                'columns': [
                    (each, terms.sorted_by(each.name))
                    for each in columns.COLUMNS
                ],
                'filters': list(_filters(terms, listed)),
                'chart': chart.draw(census.map_rows(selected)),
                'layouts': [
                    (
                        row,
                        layouts.size(row.image_layout.object_size),
                        layouts.striping(row.image_layout),
                    )
                    for row in census.layout_rows(selected)
                ],
                'other_findings': [
                    {**each, 'kind': findings.label(each['kind'])}
                    for each in listed.other_findings[:_MOST_FINDINGS]
                ],
                'number_of_findings': len(listed.other_findings),
                'of_findings': [label for _name, label in columns.OF_FINDINGS],
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
        self, terms: query.Query, selected: list[images.Image]
    ) -> dict[str, Any]:
        size = functions.get_page_size(self.request)
        if size < 1:
            # A cookie can have any number.
            size = _PAGE_SIZE
        last = max(1, -(-len(selected) // size))
        page = min(terms.page, last)
        start = (page - 1) * size
        shown = selected[start : start + size]
        return {
            'shown': shown,
            'first': start + 1,
            'until': start + len(shown),
            'previous': terms.address(page=page - 1) if page > 1 else None,
            'next': terms.address(page=page + 1) if page < last else None,
            'has_previous': page > 1,
            'has_next': page < last,
        }

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Start reading again, or continue to read."""
        if 'refresh' in request.POST:
            listing.forget(self._key())
        elif 'more' in request.POST:
            self._read(listing.load(self._key()))
        return _redirect(query.Query.of(request.GET))


class _FileView(_Images, generic.View):
    """A CSV file of the complete list."""

    name: str

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the file; go to the page if the list is not complete.

        Nothing in a file would show that images are missing.
        """
        listed = self._found()
        terms = query.Query.of(request.GET)
        if not listed.complete:
            messages.error(request, _INCOMPLETE)
            return _redirect(terms)
        return http.StreamingHttpResponse(
            self.lines(listed, terms),
            content_type='text/csv; charset=utf-8',
            headers={
                'Content-Disposition': f'attachment; filename="{self.name}"'
            },
        )

    def lines(
        self, listed: listing.Listing, terms: query.Query
    ) -> Iterator[str]:
        """Return the lines of the file."""
        raise NotImplementedError()


class CSVView(_FileView):
    """The selected images as a CSV file."""

    name = 'rbd-images.csv'

    def lines(
        self, listed: listing.Listing, terms: query.Query
    ) -> Iterator[str]:
        """Return the images, with the filters of the page."""
        selected = terms.select(listed.rbd_images, listed.projects)
        return columns.csv_lines(selected, listed.projects)


class FindingsView(_FileView):
    """The findings without a volume as a CSV file."""

    name = 'rbd-findings.csv'

    def lines(
        self, listed: listing.Listing, terms: query.Query
    ) -> Iterator[str]:
        """Return all findings."""
        return columns.findings_csv(listed.other_findings)


def _redirect(terms: query.Query) -> Any:
    """Return to the page, with its filters."""
    page = urls.reverse('horizon:admin:rbd_images:index')
    address = terms.address()
    return shortcuts.redirect(f'{page}?{address}' if address else page)


def _time(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _cells(
    image: images.Image, listed: listing.Listing
) -> Iterator[tuple[str, str, str]]:
    """Yield column, text and complete text of each cell.

    One long name must not push the other columns out of the window.
    """
    for column in columns.COLUMNS:
        text = (column.brief or column.text)(image)
        if column.name == 'project':
            text = listed.projects.get(image.project, image.project)
        elif column.name in ('size', 'used') and text:
            text = formats.number_format(text, force_grouping=True)
        text = str(text or '')
        yield column.name, text_utils.Truncator(text).chars(_LONGEST), text


def _filters(
    terms: query.Query, listed: listing.Listing
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
    words: dict[str, Mapping[str, Any]] = {
        'map': {state.value: each[0] for state, each in chart.STATES.items()},
        'project': listed.projects,
        'finding': {query.ANY: _('any'), **findings.LABELS},
    }
    for name, values in query.choices(listed.rbd_images).items():
        if name == 'finding' and values:
            values = [query.ANY, *values]
        if values:
            yield {
                'name': name,
                'label': labels[name],
                'chosen': terms.chosen.get(name, ''),
                'options': [
                    (value, words.get(name, {}).get(value, value))
                    for value in values
                ],
            }
