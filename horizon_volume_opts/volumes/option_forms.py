# SPDX-License-Identifier: Apache-2.0

"""What the forms *Change RBD Options* and *RBD Options* have in common."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from django.urls import re_path
from django.urls import reverse
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from horizon import forms

from horizon_volume_opts import refusals
from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import group
from rbd_volume_options import errors

URL_NAME = 'rbd_options'
TITLE = _('RBD Options')


class OptionsForm(group.GroupedForm, forms.SelfHandlingForm):
    """A form with a field for each option of a volume or a volume type.

    :ivar description: texts beside the fields, each with a label
    """

    description: list[tuple[str, Any]]

    def clean(self) -> Any:
        """Check the values, and show errors at their fields."""
        data: Mapping[str, Any] = super().clean()
        for error in self.errors_in(data):
            self._show(refusals.of_error(error))
        return data

    def errors_in(
        self, data: Mapping[str, Any]
    ) -> Iterator[errors.OptionError]:
        """Yield what is wrong with the cleaned values."""
        raise NotImplementedError()

    def handle(self, request: Any, data: Any) -> bool:
        """Save what differs; show a refusal of Cinder at its field."""
        try:
            self.save(request, data)
        except refusals.FAILURES as error:
            refusal = None
            if isinstance(error, cinder_exceptions.ClientException):
                refusal = refusals.read(error)
            self._show(refusal or refusals.Refusal(None, str(error)))
            return False
        return True

    def save(self, request: Any, data: Mapping[str, Any]) -> None:
        """Send the changes to Cinder.

        :raises ClientException: if Cinder refuses them
        """
        raise NotImplementedError()

    def _show(self, refusal: refusals.Refusal) -> None:
        name: str | None = fields.name_of(refusal.key or '')
        text = refusal.text
        if name not in self.fields:
            name, text = None, f'{refusal.key or TITLE}: {text}'
        self.add_error(name, text)


class OptionsView(forms.ModalFormView):
    """The page of a form, and the dialog above a table.

    :cvar panel: the panel of the table, as the name of its URLs
    """

    panel: str
    template_name = 'horizon_volume_opts/options.html'
    page_title = TITLE
    submit_label = _('Save')

    @property
    def success_url(self) -> Any:
        """The page of the table."""
        return reverse_lazy(f'{self.panel}:index')

    cancel_url = success_url

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the address that the form is sent to."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context['submit_url'] = reverse(
            f'{self.panel}:{URL_NAME}', kwargs=self.kwargs
        )
        return context


def add_page(urls: Any, view: type[OptionsView]) -> None:
    """Add a page to the URLs of a panel."""
    urls.urlpatterns += [
        re_path(
            r'^(?P<ident>[^/]+)/rbd_options/$', view.as_view(), name=URL_NAME
        )
    ]
