# SPDX-License-Identifier: Apache-2.0

"""All changes of stock Horizon's forms and tables, by hooks.

A hook is a function without arguments. It runs once, after all applications
are loaded, and before customization modules, which can change everything
again. A form is therefore extended when a view selects its class, whatever
class that is, and a table in place, so that what a customization module
removes from it stays removed.
"""

from collections.abc import Iterable
import functools
import logging
from typing import Any

from django.utils import module_loading

LOG = logging.getLogger(__name__)

#: Dotted names of the hooks. They are names because Horizon's modules can only
#: be imported after all applications are loaded.
HOOKS: tuple[str, ...] = (
    'horizon_volume_opts.requests_to_cinder.wrap_client',
    'horizon_volume_opts.volumes.create.use_form',
    'horizon_volume_opts.volumes.attach.use_forms',
    'horizon_volume_opts.volumes.extend.use_form',
    'horizon_volume_opts.volumes.retype.use_form',
    'horizon_volume_opts.volumes.notes.use_forms',
    'horizon_volume_opts.volumes.table.extend_tables',
    'horizon_volume_opts.volume_types.add_form',
)


def run(names: Iterable[str] = HOOKS) -> None:
    """Run the hooks; if one fails, its part of Horizon stays unchanged.

    The dashboard must start even if a plug-in fails. A failure is logged with
    its cause, and stock Horizon serves that part.
    """
    for name in names:
        try:
            module_loading.import_string(name)()
        except Exception:
            LOG.exception(
                'RBD volume options: %s failed; this part of Horizon does not '
                'show them',
                name,
            )


def extend_form(view: Any, mixin: type) -> None:
    """Add a mixin to the form of a view, whatever class the form has.

    :raises AttributeError: if the view has no form
    """
    stock = view.get_form_class

    @functools.wraps(stock)
    def get_form_class(self: Any) -> Any:
        return _extended(stock(self), mixin)

    view.get_form_class = get_form_class


@functools.lru_cache(maxsize=128)
def _extended(form_class: Any, mixin: type) -> Any:
    if issubclass(form_class, mixin):
        return form_class
    try:
        return type(form_class.__name__, (mixin, form_class), {})
    except TypeError:
        LOG.exception(
            'RBD volume options: the form %s.%s cannot be extended',
            form_class.__module__,
            form_class.__qualname__,
        )
        return form_class
