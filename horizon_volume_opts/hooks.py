# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Where the plug-in takes hold of stock Horizon: each place is listed here.

A hook is a function without arguments that runs once, when all applications
are loaded. It sets what stock Horizon looks up later (a view's
``form_class``, a table's columns), so that nothing is replaced while requests
are served.
"""

from collections.abc import Iterable
import logging

from django.utils import module_loading

LOG = logging.getLogger(__name__)

#: Dotted names of the hooks. Names, since Horizon's own modules can only be
#: imported when all applications are loaded.
HOOKS: tuple[str, ...] = (
    'horizon_volume_opts.rest.add_routes',
    'horizon_volume_opts.volumes.create.use_form',
    'horizon_volume_opts.volumes.attach.use_form',
    'horizon_volume_opts.volumes.table.use_table',
    'horizon_volume_opts.type_specs.hook.use_forms',
)


def run(names: Iterable[str] = HOOKS) -> None:
    """Run hooks; one that fails leaves its part of Horizon as it was.

    A dashboard must come up whatever became of a plug-in: what fails is
    logged with its cause, and stock Horizon serves that part.
    """
    for name in names:
        try:
            module_loading.import_string(name)()
        except Exception:
            LOG.exception(
                'RBD volume options: %s failed, this part of Horizon stays '
                'without them',
                name,
            )
