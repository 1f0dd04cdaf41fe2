# SPDX-License-Identifier: Apache-2.0

"""The page: the list of images, a chart and the age of the data."""

from collections.abc import Iterator
from collections.abc import Mapping
import datetime
import hashlib
from typing import Any

from django import shortcuts
from django import urls
from django.utils import formats
from django.utils import text as text_utils
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import views
from horizon.utils import functions

from horizon_volume_opts import layouts
from horizon_volume_opts.admin_images import census
from horizon_volume_opts.admin_images import chart
from horizon_volume_opts.admin_images import columns
from horizon_volume_opts.admin_images import findings
from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import listing
from horizon_volume_opts.admin_images import query
from horizon_volume_opts.admin_images import sources

# Increase this when the format of the cached values changes.
_CACHE_VERSION = 5
#: Maximum number of listed findings that are not about a volume.
_MOST_FINDINGS = 100
_PAGE_SIZE = 20
#: Page numbers before and after the current one, beside the first and last.
_NEAR = 3
#: Maximum number of characters of a cell.
_LONGEST = 40


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
        shown = [
            column
            for column in columns.COLUMNS
            if column.is_always or any(map(column.text, selected))
        ]
        context.update(
            {
                'found': listed,
                'taken': _time(listed.taken),
                'audited': _time(listed.audited),
                'asked': terms,
                'number': len(selected),
                'rows': [
                    (image, list(_cells(image, listed, shown)))
                    for image in context['shown']
                ],
                'columns': shown,
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
            }
        )
        return context

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
            'pages': [
                (number, terms.address(page=number), number == page)
                for number in range(1, last + 1)
                if number in (1, last) or abs(number - page) <= _NEAR
            ]
            if last > 1
            else [],
        }

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Start reading again, or continue to read."""
        if 'refresh' in request.POST:
            listing.forget(self._key())
        elif 'more' in request.POST:
            self._read(listing.load(self._key()))
        return _redirect(query.Query.of(request.GET))


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
    image: images.Image,
    listed: listing.Listing,
    shown: list[columns.Column],
) -> Iterator[tuple[str, str, str]]:
    """Yield column, text and complete text of each cell.

    One long name must not push the other columns out of the window.
    """
    for column in shown:
        text = (column.brief or column.text)(image)
        if column.name == 'project':
            text = listed.projects.get(image.project, image.project)
        elif column.name == 'size' and text:
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
        'finding': _('Findings'),
    }
    words: dict[str, Mapping[str, Any]] = {
        'map': {state.value: each[0] for state, each in chart.STATES.items()},
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
