# SPDX-License-Identifier: Apache-2.0

"""The catalogues have all strings, and the German ones all translations."""

import gettext
import pathlib
import re
import sys
from typing import Any

import catalogues
import ddt
import horizon
import openstack_dashboard

from tests import tree
from tests.unit import base

_LANGUAGE = 'de'
_PLACEHOLDER = re.compile(
    r'%\(\w+\)[sd]|%[sdr]|</?\w+[^>]*>|\{\$.*?\$\}|\{\w+:?,?\}'
)
_HINT = 'run python tools/catalogues.py'
_PAGE = tree.ROOT / 'doc' / 'source' / 'user' / 'dashboard.rst'
_QUOTE = re.compile(r'(?<![*\w])\*(\w[^*]*)\*(?=[\s.,:])')


@ddt.ddt
class CataloguesTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # The configuration of an extractor names the module.
        self.assertIs(catalogues, sys.modules['catalogues'])

    def _german(self, domain: catalogues.Domain) -> pathlib.Path:
        (german,) = (
            path for path in domain.catalogues if _LANGUAGE in path.parts
        )
        return german

    @ddt.data(*catalogues.DOMAINS)
    def test_template_has_every_string(
        self, domain: catalogues.Domain
    ) -> None:
        extracted = set(catalogues.strings(catalogues.extracted(domain)))
        self.assertNotEqual(set(), extracted)
        template = catalogues.strings(catalogues.read(domain.template))
        self.assertEqual(extracted, set(template), _HINT)

    @ddt.data(*catalogues.DOMAINS)
    def test_german_is_complete(self, domain: catalogues.Domain) -> None:
        template = catalogues.read(domain.template)
        german = catalogues.read(self._german(domain))
        strings = set(catalogues.strings(template))
        self.assertEqual(strings, set(catalogues.strings(german)), _HINT)
        self.assertEqual([], catalogues.missing(german))

    @ddt.data(*catalogues.DOMAINS)
    def test_placeholders_are_kept(self, domain: catalogues.Domain) -> None:
        german = catalogues.strings(catalogues.read(self._german(domain)))
        for (_, string), translated in german.items():
            self.assertEqual(
                set(_PLACEHOLDER.findall(str(string))),
                set(_PLACEHOLDER.findall(str(translated))),
                string,
            )

    @ddt.data(*catalogues.DOMAINS)
    def test_compiled_catalogue_has_all_translations(
        self, domain: catalogues.Domain
    ) -> None:
        path = self._german(domain)
        with path.with_suffix('.mo').open('rb') as file:
            compiled = gettext.GNUTranslations(file)
        german = catalogues.strings(catalogues.read(path))
        for (_, string), translated in german.items():
            if isinstance(string, tuple):
                shown: Any = tuple(
                    compiled.ngettext(string[0], string[1], n) for n in (1, 2)
                )
            else:
                shown = compiled.gettext(string)
            self.assertEqual(translated, shown, _HINT)

    def test_strings_of_horizon_mean_the_same(self) -> None:
        """Django merges the catalogues of all applications."""
        (domain,) = (x for x in catalogues.DOMAINS if x.name == 'django')
        path = self._german(domain)
        ours = catalogues.strings(catalogues.read(path))
        below = path.relative_to(domain.folder)
        for module in (horizon, openstack_dashboard):
            folder = pathlib.Path(str(module.__file__)).parent / 'locale'
            stock = catalogues.strings(catalogues.read(folder / below))
            for key in ours.keys() & stock.keys():
                self.assertIn(stock[key] or ours[key], (ours[key],))

    def test_page_for_users_quotes_the_form(self) -> None:
        """It shows what the form Create Volume says, step by step."""
        texts = [
            '.+'.join(map(re.escape, _PLACEHOLDER.split(string)))
            for domain in catalogues.DOMAINS
            if domain.package == 'horizon_volume_opts'
            for _, string in catalogues.strings(
                catalogues.read(domain.template)
            )
            if isinstance(string, str) and re.search('[a-z]{4}', string)
        ]
        page = _PAGE.read_text().partition('\nVolumes\n-----')[0]
        quotes = [' '.join(quote.split()) for quote in _QUOTE.findall(page)]
        self.assertIn('Custom', quotes)
        for quote in quotes:
            # Not the way to a form.
            if '>' not in quote:
                matching = [x for x in texts if re.fullmatch(x, quote)]
                self.assertNotEqual([], matching, quote)
