# SPDX-License-Identifier: Apache-2.0

"""Filter and page of the list, from the address of the page."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any
from urllib import parse

from horizon_volume_opts.admin_images import images

#: Names of the parameters that select images by an exact value.
FILTERS = ('map', 'type', 'finding')

#: Values of the parameter ``finding`` for images with any finding or without.
ANY = 'any'

Projects = Mapping[str, str]
_Key = Callable[[images.Image], Any]


#: The value of an image for each filter.
_VALUES: dict[str, _Key] = {
    'map': lambda image: image.map_state.value,
    'type': lambda image: image.volume_type,
}


@dataclasses.dataclass(frozen=True)
class Query:
    """The selection of the user.

    :ivar text: part of a name or an ID of a volume or project
    :ivar chosen: values of :data:`FILTERS`
    :ivar page: from 1
    """

    text: str = ''
    chosen: Mapping[str, str] = dataclasses.field(default_factory=dict)
    page: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> 'Query':
        """Return the query of an address; invalid values are ignored."""
        page = parameters.get('page', '')
        return cls(
            parameters.get('q', '').strip(),
            {
                name: parameters[name]
                for name in FILTERS
                if parameters.get(name)
            },
            max(1, int(page))
            if page.isascii() and page.isdigit() and len(page) < 8
            else 1,
        )

    def select(
        self, rbd_images: Iterable[images.Image], projects: Projects
    ) -> list[images.Image]:
        """Return the selected images by name."""
        text = self.text.casefold()
        selected = [
            image
            for image in rbd_images
            if self._is_chosen(image)
            and (
                not text
                or any(
                    text in each.casefold()
                    for each in (
                        image.name,
                        image.ident,
                        image.project,
                        projects.get(image.project, ''),
                    )
                )
            )
        ]
        return sorted(selected, key=lambda image: image.title.casefold())

    def _is_chosen(self, image: images.Image) -> bool:
        for name, value in self.chosen.items():
            if name == 'finding':
                if not image.findings or (
                    value != ANY and value not in image.findings
                ):
                    return False
            elif _VALUES[name](image) != value:
                return False
        return True

    def address(self, **changes: Any) -> str:
        """Return the encoded parameters of this query with changes."""
        other = dataclasses.replace(self, **changes)
        parameters = {
            'q': other.text,
            **other.chosen,
            'page': str(other.page) if other.page > 1 else '',
        }
        return parse.urlencode({k: v for k, v in parameters.items() if v})


def choices(rbd_images: Iterable[images.Image]) -> dict[str, list[str]]:
    """Return the values to choose from for each filter."""
    by_filter: dict[str, set[str]] = {name: set() for name in FILTERS}
    for image in rbd_images:
        for name, value in _VALUES.items():
            if value(image):
                by_filter[name].add(value(image))
        by_filter['finding'].update(image.findings)
    return {name: sorted(values) for name, values in by_filter.items()}
