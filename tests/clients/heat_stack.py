# SPDX-License-Identifier: Apache-2.0

"""Heat's engine for one stack, without its services.

Usage: ``heat_stack.py FOLDER create|update|delete``, with the template on
standard input. The database is in the folder. The output is the state of the
stack and, as JSON, its outputs and the IDs of its resources.
"""

import json
import pathlib
import sys

from heat.common import context
from heat.common import messaging
from heat.common import template_format
from heat.db import api
from heat.db import models
from heat.engine import resources
from heat.engine import stack
from heat.engine import template
import openstack
from oslo_config import cfg
from oslo_db import options

_NAME = 'documented'


def _context() -> context.RequestContext:
    cloud = openstack.connect()
    auth = cloud.config.get_auth_args()
    return context.RequestContext(
        username=auth['username'],
        password=auth['password'],
        user_domain_id='default',
        user_id=cloud.current_user_id,
        project_id=cloud.current_project_id,
        auth_url=auth['auth_url'],
        auth_token=cloud.auth_token,
        region_name='RegionOne',
        is_admin=False,
    )


def main(folder: str, action: str) -> None:
    """Run an action and print the result."""
    cfg.CONF([], project='heat', default_config_files=[])
    # Otherwise, Heat would need a trust and a user of its own.
    cfg.CONF.set_override('deferred_auth_method', 'password')
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    path = pathlib.Path(folder, 'heat.sqlite')
    options.set_defaults(cfg.CONF, connection=f'sqlite:///{path}')
    models.BASE.metadata.create_all(api.get_engine())
    # Nothing receives its notifications.
    messaging.setup('fake://')
    resources.initialise()
    ours = _context()
    if action == 'create':
        parsed = template.Template(template_format.parse(sys.stdin.read()))
        made = stack.Stack(ours, _NAME, parsed)
        made.validate()
        made.store()
        made.create()
    else:
        record = api.stack_get_by_name(ours, _NAME)
        made = stack.Stack.load(ours, record.id)
        if action == 'update':
            parsed = template.Template(template_format.parse(sys.stdin.read()))
            made.update(stack.Stack(ours, _NAME, parsed))
        else:
            made.delete()
    # The service does this when it releases its lock of the stack.
    made.persist_state_and_release_lock(_NAME)
    print(*made.state, made.status_reason)
    outputs, ids = {}, {}
    if action != 'delete':
        made = stack.Stack.load(ours, made.id)
        made._update_all_resource_data(False, True)
        outputs = {k: v.get_value() for k, v in made.outputs.items()}
        ids = {each.name: each.resource_id for each in made.values()}
    print(json.dumps({'outputs': outputs, 'ids': ids}))


if __name__ == '__main__':
    main(*sys.argv[1:])
