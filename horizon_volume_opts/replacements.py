# SPDX-License-Identifier: Apache-2.0

"""All replacements of stock Horizon's forms and tables, by hooks.

A hook is a function without arguments. It runs once, after all applications
are loaded. It sets attributes that stock Horizon reads later (the
``form_class`` of a view, the columns of a table), so that nothing changes
while requests are served.
"""

from collections.abc import Iterable
import logging

from django.utils import module_loading

LOG = logging.getLogger(__name__)

#: Dotted names of the hooks. They are names because Horizon's modules can only
#: be imported after all applications are loaded.
HOOKS: tuple[str, ...] = (
    'horizon_volume_opts.catalogue.name_language',
    'horizon_volume_opts.rest.add_routes',
    'horizon_volume_opts.volumes.create.use_form',
    'horizon_volume_opts.volumes.attach.use_forms',
    'horizon_volume_opts.volumes.extend.use_form',
    'horizon_volume_opts.volumes.retype.use_form',
    'horizon_volume_opts.volumes.notes.use_forms',
    'horizon_volume_opts.volumes.table.use_table',
    'horizon_volume_opts.type_specs.forms.use_forms',
    'horizon_volume_opts.type_specs.deletion.use_table',
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
