# SPDX-License-Identifier: Apache-2.0

"""The page: counts, layouts in use, findings of the audit, and the list."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import datetime
import hashlib
from typing import Any
from urllib import parse

from django import shortcuts
from django.core import cache
from django.core import paginator
from django.utils import formats
from django.utils.translation import gettext_lazy as _
from horizon import exceptions
from horizon import views
from horizon.utils import functions

from horizon_volume_opts import phrasing
from horizon_volume_opts.admin_images import audit
from horizon_volume_opts.admin_images import images
from rbd_volume_options import layout

# Increase this when the format of the cached values changes.
_CACHE_VERSION = 6
_PAGE_SIZE = 20

#: Text and colour of each state, in the order of the bars. The colours of
#: Okabe and Ito can be distinguished by people with colour blindness.
MAPS: dict[str, tuple[Any, str]] = {
    audit.MapState.VALID.value: (_('valid'), '#0072b2'),
    audit.MapState.UNCHECKED.value: (_('not checked'), '#56b4e9'),
    audit.MapState.NONE.value: (_('none'), '#e69f00'),
    audit.MapState.INVALID.value: (_('invalid'), '#cc79a7'),
    audit.MapState.UNKNOWN.value: (_('not recorded'), '#767676'),
}


def _layout(image: images.Image) -> str:
    if not image.layout:
        return ''
    return phrasing.layout_in_words(
        layout.ImageLayout.from_numbers(*image.layout)
    )


#: Name, heading and text of each column.
_COLUMNS: tuple[tuple[str, Any, Any], ...] = (
    ('name', _('Volume'), lambda image: image.name),
    (
        'size',
        _('Size (GiB)'),
        lambda image: formats.number_format(image.size, force_grouping=True),
    ),
    ('type', _('Volume Type'), lambda image: image.volume_type),
    ('layout', _('Layout'), _layout),
    ('map', _('Object Map'), lambda image: MAPS[image.map_state][0]),
    ('pool', _('Pool of Cinder'), lambda image: image.pool),
    ('data_pool', _('Data Pool of Ceph'), lambda image: image.data_pool),
)


class IndexView(views.HorizonTemplateView):
    """Shows the cached list, and reads it again on request."""

    template_name = 'horizon_volume_opts/admin_images/index.html'
    page_title = _('RBD Images')

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the list, its filters and the counts."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        listed = images.load(self._key()) or self._read()
        chosen = {
            name: self.request.GET[name]
            for name in ('map', 'type')
            if self.request.GET.get(name)
        }
        selected = [
            image
            for image in listed.images
            if image.map_state == chosen.get('map', image.map_state)
            and image.volume_type == chosen.get('type', image.volume_type)
        ]
        selected.sort(key=lambda image: image.name.casefold())
        # A cookie can have any number.
        size = functions.get_page_size(self.request)
        pages = paginator.Paginator(selected, size if size > 0 else _PAGE_SIZE)
        page = pages.get_page(self.request.GET.get('page'))
        shown = [
            column
            for column in _COLUMNS
            if any(column[2](image) for image in selected)
        ]
        return context | {
            'listed': listed,
            'taken': _time(listed.taken),
            'audited': _time(listed.audited),
            'filters': list(_filters(chosen, listed.images)),
            'query': parse.urlencode(chosen),
            'page': page,
            'pages': pages.get_elided_page_range(page.number),
            'columns': [label for _name, label, _text in shown],
            'rows': [
                (image, [(name, text(image)) for name, _label, text in shown])
                for image in page
            ],
            'bars': list(_bars(selected)),
            'layouts': list(_layouts(selected)),
            'findings': [
                {**each, 'is_listed': each['volume'] in listed.rows}
                for each in listed.findings
            ],
            'number_of_findings': sum(listed.kinds.values()),
        }

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Start reading again, or continue to read."""
        if 'refresh' in request.POST:
            cache.cache.delete(self._key())
        elif 'more' in request.POST:
            self._read(images.load(self._key()))
        return shortcuts.redirect(request.get_full_path())

    def _read(self, listed: images.Listing | None = None) -> images.Listing:
        """Read the list, or continue to read it."""
        listed = listed or images.Listing()
        try:
            listed.read(self.request)
        except Exception:
            exceptions.handle(
                self.request, _('Unable to read the RBD images.')
            )
        if not (listed.rows or listed.complete):
            return images.Listing('')
        # Also after an error: the pages that were read need not be read again.
        images.store(self._key(), listed)
        return listed

    def _key(self) -> str:
        # Each region of each Keystone has its own Cinder.
        user = self.request.user
        where = f'{user.endpoint} {user.services_region}'
        # memcached does not accept spaces or long keys.
        digest = hashlib.sha256(where.encode()).hexdigest()
        return f'rbd_volume_options:{_CACHE_VERSION}:{digest}'


def _time(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _filters(
    chosen: Mapping[str, str], listed: Iterable[images.Image]
) -> Iterator[dict[str, Any]]:
    """Yield the select boxes of the form."""
    values = {image.map_state for image in listed}
    maps = [(state, MAPS[state][0]) for state in MAPS if state in values]
    types = sorted({image.volume_type for image in listed} - {''})
    for name, label, options in (
        ('map', _('Object Map'), maps),
        ('type', _('Volume Type'), [(each, each) for each in types]),
    ):
        yield {
            'name': name,
            'label': label,
            'chosen': chosen.get(name, ''),
            'options': options,
        }


def _bars(selected: Iterable[images.Image]) -> Iterator[dict[str, Any]]:
    """Yield a bar for each volume type and pool, the largest first.

    The unit of a bar is an image; the page scales the bars.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for image in selected:
        row = counts.setdefault((image.volume_type, image.pool), Counter())
        row[image.map_state] += 1
    for (volume_type, pool), counted in sorted(
        counts.items(), key=lambda item: (-item[1].total(), item[0])
    ):
        pieces, start = [], 0
        for state, (label, colour) in MAPS.items():
            if count := counted[state]:
                pieces.append((start, count, label, colour))
                start += count
        yield {
            'type': volume_type,
            'pool': pool,
            'pieces': pieces,
            'total': start,
        }


def _layouts(selected: Iterable[images.Image]) -> Iterator[Any]:
    """Yield layout, data pool and number of images, the largest first."""
    counts = Counter(
        (tuple(image.layout), image.data_pool)
        for image in selected
        if image.layout
    )
    for (numbers, pool), count in sorted(
        counts.items(), key=lambda item: (-item[1], item[0])
    ):
        made = layout.ImageLayout.from_numbers(*numbers)
        yield (
            phrasing.size(made.object_size),
            phrasing.striping(made),
            pool,
            count,
        )
