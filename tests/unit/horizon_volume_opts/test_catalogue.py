# SPDX-License-Identifier: Apache-2.0

"""The address of the scripts' translations."""

from django import test
from django import urls
from django.conf import settings
from django.utils import translation
from horizon import site_urls
from openstack_dashboard import context_processors

from horizon_volume_opts import replacements
from tests.unit.horizon_volume_opts import horizon_case


class CatalogueTestCase(horizon_case.HorizonTestCase):
    def test_each_language_has_its_own_address(self) -> None:
        paths, texts = [], []
        for language in ('en', 'de'):
            with translation.override(language):
                path = urls.reverse(
                    'horizon:jsi18n',
                    args=[context_processors.get_js_catalog(settings)],
                )
                match = urls.resolve(path)
                response = match.func(
                    test.RequestFactory().get(path), **match.kwargs
                )
            self.assertEqual(200, response.status_code)
            paths.append(path)
            texts.append(response.content.decode())
        self.assertNotEqual(*paths)
        self.assertNotIn('RBD-Datentr', texts[0])
        self.assertIn('RBD-Datentr', texts[1])

    def test_stock_address_is_kept(self) -> None:
        """Other pages of Horizon name the packages themselves."""
        match = urls.resolve('/i18n/js/horizon/')
        response = match.func(test.RequestFactory().get('/'), **match.kwargs)
        self.assertEqual(200, response.status_code)

    def test_horizon_without_the_address_is_unchanged(self) -> None:
        self.patch(site_urls, 'urlpatterns', [])
        replacements.run(['horizon_volume_opts.catalogue.name_language'])
        self.assertIn('name_language failed', self.log.output)
