# SPDX-License-Identifier: Apache-2.0

"""The address of the scripts' translations, with the language in it.

Stock Horizon serves the translations of all languages at one address, and
their ``Last-Modified`` is the start of the process. After a switch of the
language, browsers therefore use those of the former language. The name of the
language becomes a part of the address, among the names of the packages.
"""

import functools
from typing import Any

from django.utils import translation
from horizon import site_urls
from openstack_dashboard import context_processors

_VIEW = 'jsi18n'
_PREFIX = '+rbd-language-'


def name_language() -> None:
    """Add the language to the address; a hook.

    :raises StopIteration, AttributeError: if Horizon has no such address
    """
    pattern = next(
        each
        for each in site_urls.urlpatterns
        if getattr(each, 'name', '') == _VIEW
    )
    named = _naming(context_processors.get_js_catalog)
    pattern.callback = _without_language(pattern.callback)
    context_processors.get_js_catalog = named


def _naming(stock: Any) -> Any:
    @functools.wraps(stock)
    def get_js_catalog(conf: Any) -> str:
        return f'{stock(conf)}{_PREFIX}{translation.get_language()}'

    return get_js_catalog


def _without_language(stock: Any) -> Any:
    """Return the stock view, which refuses unknown names of packages."""

    @functools.wraps(stock)
    def catalogue(request: Any, packages: str, **kwargs: Any) -> Any:
        names, _prefix, _language = packages.partition(_PREFIX)
        return stock(request, packages=names, **kwargs)

    return catalogue
