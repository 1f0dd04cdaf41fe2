# SPDX-License-Identifier: Apache-2.0

"""REST views for the scripts of the pages, below Horizon's ``api/``."""

from collections.abc import Mapping
from typing import Any
from urllib import parse

from django.conf import settings
from django.views import generic
from openstack_dashboard.api.rest import utils

from horizon_volume_opts import discovery

UNAVAILABLE = 503


class Fragment(generic.View):
    """A part of a page that depends on the values of a form.

    :cvar texts: texts for the script of a page, in each response
    """

    url_regex: str
    texts: Mapping[str, Any] = {}

    @utils.ajax()
    def get(self, request: Any) -> Any:
        """Return the answer for the values in the address."""
        # Horizon's encoder takes a lazy text for a list of characters.
        texts = {name: str(text) for name, text in self.texts.items()}
        status, answer = 200, dict[str, Any](texts)
        try:
            answer |= self.answer(request)
        except discovery.Unavailable:
            status = UNAVAILABLE
        return utils.JSONResponse(answer, status)

    def answer(self, request: Any) -> dict[str, Any]:
        """Return JSON data, with the part as ``html``.

        :raises Unavailable: if Cinder does not return the options of types
        """
        raise NotImplementedError()


def address(view: type[Fragment], **values: str) -> str:
    """Return the address of a view, for the script of a page.

    :param values: parameters that do not depend on the form
    """
    path = f'{settings.WEBROOT}api/{view.url_regex.removesuffix("$")}'
    return f'{path}?{parse.urlencode(values)}'
