# SPDX-License-Identifier: Apache-2.0

"""Extracts the strings of the packages, and updates and compiles catalogues.

Usage: python tools/catalogues.py

Run it with the programs of the tests' environment after a string was changed.
It writes for each domain a template (``.pot``) and, for each language that
has one, the catalogue (``.po``). New strings are empty in a catalogue:
translate them. :mod:`compiled` writes what services load.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import io
import pathlib
import sys
from typing import Any

from babel.messages import catalog
from babel.messages import extract
from babel.messages import frontend
from babel.messages import pofile
from django.utils.translation import template

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Babel's defaults are addresses that do not exist.
_NAMES = {
    'project': 'rbd-volume-options',
    'version': '',
    'copyright_holder': 'RBD volume options contributors',
    'msgid_bugs_address': '',
    'last_translator': 'RBD volume options contributors',
    'language_team': '',
}
_RULES = 'rbd_volume_options'
_HEADER = '# Made by tools/catalogues.py. Translate the .po files only.'
# The dashboard marks strings as Django does, the others as oslo.i18n.
_KEYWORDS: dict[str, Any] = {
    **extract.DEFAULT_KEYWORDS,
    **dict.fromkeys(('gettext_lazy', 'gettext_noop')),
    'ngettext_lazy': (1, 2),
    'pgettext_lazy': ((1, 'c'), 2),
}
# The rules mark their texts so, and the dashboard translates them.
_PHRASES: dict[str, Any] = {'Phrase': None}


@dataclasses.dataclass(frozen=True)
class Domain:
    """The strings of a package that are translated together.

    :ivar has_phrases: whether the package translates the texts of the rules
    """

    package: str
    name: str
    config: str
    has_phrases: bool = False

    @property
    def folder(self) -> pathlib.Path:
        """Where the catalogues are."""
        return ROOT / self.package / 'locale'

    @property
    def template(self) -> pathlib.Path:
        """The catalogue without translations."""
        return self.folder / f'{self.name}.pot'

    @property
    def catalogues(self) -> list[pathlib.Path]:
        """The catalogues of all languages."""
        return sorted(self.folder.glob(f'*/LC_MESSAGES/{self.name}.po'))


DOMAINS = (
    *(
        Domain(package, package, 'python.cfg')
        for package in ('cinder_rbd_ext', 'glance_store_objmap')
    ),
    Domain('horizon_volume_opts', 'django', 'django.cfg', True),
)


def extract_template(
    fileobj: io.BufferedIOBase,
    keywords: Any,
    comment_tags: Any,
    options: Any,
) -> Iterator[Any]:
    """Extract the strings of a Django template, for Babel.

    Django turns the template into text with calls of gettext.
    """
    lines = template.templatize(fileobj.read().decode()).splitlines()
    # The extractor for Python would treat the indentation as an error.
    text = '\n'.join(line.lstrip() for line in lines)
    return extract.extract_python(
        io.BytesIO(text.encode()), keywords, comment_tags, options
    )


def extracted(domain: Domain) -> catalog.Catalog:
    """Return the strings of a domain as its files have them."""
    config = ROOT / 'etc' / 'babel' / domain.config
    with config.open() as file:
        parsed: Any = frontend.parse_mapping_cfg(  # type: ignore[no-untyped-call]
            file, str(config)
        )
    methods, options = parsed
    catalogue = catalog.Catalog(header_comment=_HEADER, fuzzy=False, **_NAMES)
    for name, _, message, comments, context in extract.extract_from_dir(
        ROOT / domain.package, methods, options, _KEYWORDS
    ):
        path = f'{domain.package}/{pathlib.PurePath(name).as_posix()}'
        catalogue.add(
            message, None, [(path, 0)], auto_comments=comments, context=context
        )
    if domain.has_phrases:
        for name, _, message, _, _ in extract.extract_from_dir(
            ROOT / _RULES, [('**.py', 'python')], None, _PHRASES
        ):
            catalogue.add(message, None, [(f'{_RULES}/{name}', 0)])
    return catalogue


def read(path: pathlib.Path) -> catalog.Catalog:
    """Read a template or a catalogue."""
    with path.open('rb') as file:
        return pofile.read_po(file)


def strings(texts: catalog.Catalog) -> dict[Any, Any]:
    """Return the strings of a catalogue and their translations."""
    return {(each.context, each.id): each.string for each in texts if each.id}


def missing(catalogue: catalog.Catalog) -> list[Any]:
    """Return the strings that have no translation."""
    return [
        each.id
        for each in catalogue
        if each.id and (each.fuzzy or not _is_translated(each.string))
    ]


def _is_translated(string: Any) -> bool:
    # A plural has a tuple.
    if isinstance(string, tuple):
        return all(string)
    return bool(string)


def _write(path: pathlib.Path, catalogue: catalog.Catalog) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue.header_comment = _HEADER
    for name, value in _NAMES.items():
        setattr(catalogue, name, value)
    with path.open('wb') as file:
        pofile.write_po(
            file,
            catalogue,
            width=79,
            ignore_obsolete=True,
            include_lineno=False,
            sort_by_file=True,
        )


def main() -> int:
    """Update all domains; return 1 if a translation is missing."""
    status = 0
    for domain in DOMAINS:
        new = extracted(domain)
        if not domain.template.exists() or set(strings(new)) != set(
            strings(read(domain.template))
        ):
            _write(domain.template, new)
        for path in domain.catalogues:
            known = read(path)
            if set(strings(known)) != set(strings(new)):
                known.update(new, no_fuzzy_matching=True)
                _write(path, known)
            for string in missing(known):
                print(f'{path.relative_to(ROOT)}: {string!r}')
                status = 1
    return status


if __name__ == '__main__':
    # The configuration of an extractor names this module.
    sys.modules['catalogues'] = sys.modules[__name__]
    sys.exit(main())
