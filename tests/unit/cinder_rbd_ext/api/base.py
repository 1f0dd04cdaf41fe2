# SPDX-License-Identifier: Apache-2.0

"""Base class of tests with Cinder's API and the extension loaded.

Router, policy and database are real. Only the scheduler's report of its pools
is fixed. It is built by the code that builds it in a back end.
"""

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import functools
import os
import pathlib
import re
import sys
import types
from typing import Any
from unittest import mock

import cinder  # noqa: F401 - first of all: it decides about eventlet
from cinder import context as cinder_context
from cinder import objects
from cinder import policy as cinder_policy
from cinder.api.openstack import api_version_request
from cinder.api.v3 import router
from cinder.db import api as db
from cinder.scheduler import rpcapi
from cinder.tests.unit import fake_constants as fake
from cinder.tests.unit import test
from cinder.tests.unit import utils
from cinder.tests.unit.api import fakes
import fixtures
from oslo_serialization import jsonutils
from routes import mapper
from routes import route
import webob

from cinder_rbd_ext.api import known_types
from cinder_rbd_ext.api import pools
from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options.families import cache_modes
from tests import option_values
from tests.unit import recorded
from tests.unit.rbd_volume_options import back_end

STOCK = 'cinder.api.contrib.standard_extensions'
OURS = 'cinder_rbd_ext.api.extension.RBDVolumeOptions'
ALL_KEYS = back_end.ALL_KEYS
OTHER_PROJECT = '99999999-0000-4000-8000-000000000000'
MIB = 1 << 20

Answer = dict[str, Any]
#: What an extension remembers between requests.
_MEMORIES = {pools: pools.ReportedPools, known_types: known_types.KnownTypes}

# The routers of all tests compile the same thousand patterns, more than `re`
# caches. This took most of the time of these tests.
_RE = types.SimpleNamespace(
    **{**vars(re), 'compile': functools.lru_cache(maxsize=None)(re.compile)}
)


settings = back_end.settings

#: Text in a request that is not an ID and that no database can store.
UNSTORABLE = '\ud800'


def pool(
    name: str, of: backend_settings.BackendSettings | None = None, **more: Any
) -> Answer:
    """Return the pool of a back end as the scheduler reports it."""
    report: Answer = {'volume_backend_name': name, 'multiattach': True, **more}
    if of:
        report.update(backend_settings.reported(of))
    # RPC transports neither tuples nor sets.
    plain: Answer = jsonutils.loads(jsonutils.dumps(report))
    return {'name': f'host@{name}#{name}', 'capabilities': plain}


#: Two RBD back ends with different limits, and another back end.
POOLS = [
    pool('rbd', settings()),
    pool(
        'rbd2',
        settings(
            option_values.level(
                errors.Origin.BACKEND,
                object_size=8 * MIB,
                plain={keys.CACHE_MODE: cache_modes.CacheMode.WRITEBACK},
                data_pool='ec',
            ),
            max_stripe_count=4,
            allowed={
                keys.CACHE_MODE: (
                    cache_modes.CacheMode.NONE,
                    cache_modes.CacheMode.WRITEBACK,
                )
            },
            tenant_options=frozenset({keys.CACHE_MODE, keys.STRIPE_UNIT}),
        ),
    ),
    pool('fake'),
]

#: The extra specs of the existing volume types, by name.
TYPES = {
    'rbd': {'volume_backend_name': 'rbd'},
    'rbd2': {'volume_backend_name': 'rbd2'},
    'both': {'capabilities:rbd_volume_options': '<is> True'},
    'fake': {'volume_backend_name': 'fake'},
    'any': {},
    'nowhere': {'volume_backend_name': 'nowhere'},
    'shared': {'volume_backend_name': 'rbd', 'multiattach': '<is> True'},
    'striped': {
        'volume_backend_name': 'rbd',
        'rbd:stripe_unit': '64K',
        'rbd:stripe_count': '8',
        'rbd:tenant_options': 'rbd:object_map',
    },
}

MADE = {
    'rbd:object_size': '1048576',
    'rbd:stripe_unit': '65536',
    'rbd:stripe_count': '8',
    'rbd:features': 'exclusive-lock,layering,striping',
}


@functools.cache
def _router(extensions: tuple[str, ...]) -> tuple[Any, list[Any]]:
    """Return the API, which takes longer to build than most tests take.

    Also return what its extensions remember, for a test to reset.

    :param extensions: the value of osapi_volume_extension
    """
    memories = []

    def made(cls: Callable[[], Any]) -> Any:
        memories.append(cls())
        return memories[-1]

    with contextlib.ExitStack() as patches:
        for module, cls in _MEMORIES.items():
            new = functools.partial(made, cls)
            patches.enter_context(mock.patch.object(module, cls.__name__, new))
        return router.APIRouter(), memories


class ApiTestCase(test.TestCase):
    """Requests to the complete API, by default as a member."""

    # The wheel of Cinder has no etc/ and installs the file here.
    RESOURCE_FILTER_PATH = os.path.join(
        sys.prefix, 'etc/cinder/resource_filters.json'
    )
    #: The value of osapi_volume_extension.
    extensions: tuple[str, ...] = (STOCK, OURS)

    def setUp(self) -> None:
        super().setUp()
        self.mock_object(mapper, 're', _RE)
        self.mock_object(route, 're', _RE)
        self.override_config('osapi_volume_extension', self.extensions)
        self.get_pools = self.mock_object(
            rpcapi.SchedulerAPI,
            'get_pools',
            autospec=True,
            return_value=POOLS,
        )
        # Creation ends here: other tests cover the steps after the API.
        self.mock_object(rpcapi.SchedulerAPI, 'create_volume', autospec=True)
        self.admin_context = cinder_context.get_admin_context()
        self.types: dict[str, str] = {}
        for name, specs in TYPES.items():
            self.add_type(name, specs)
        self.override_config('default_volume_type', 'rbd')
        self.router, memories = _router(self.extensions)
        for each in memories:
            vars(each).update(vars(type(each)()))
        self.app = self.make_app('member', 'reader')
        self.reader = self.make_app('reader')
        self.admin = self.make_app('admin', 'member', 'reader')
        self.stranger = self.make_app(
            'member', 'reader', project=OTHER_PROJECT
        )

    def make_app(self, *roles: str, project: str = fake.PROJECT_ID) -> Any:
        """Return the API for a user with roles in a project."""
        context = cinder_context.RequestContext(
            fake.USER_ID,
            project,
            is_admin='admin' in roles,
            auth_token=True,
            roles=list(roles),
        )
        app = fakes.wsgi_app(
            fake_auth_context=context, inner_app_v3=self.router
        )
        app.project = project
        return app

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        app: Any = None,
        version: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> webob.Response:
        """Send a request; return the response."""
        app = app or self.app
        request = webob.Request.blank(f'/v3/{app.project}{path}')
        request.method = method
        if version is None:
            version = api_version_request.max_api_version().get_string()
        request.headers['OpenStack-API-Version'] = f'volume {version}'
        request.headers['Content-Type'] = 'application/json'
        request.headers.update(headers or {})
        if body is not None:
            request.body = jsonutils.dump_as_bytes(body)
        return request.get_response(app)

    def ok(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        """Send a request that must succeed; return the response body."""
        response = self.call(method, path, body, **how)
        self.assertLess(response.status_int, 300, f'{body} {response.text}')
        return response.json if response.body else None

    def refused(
        self,
        status: int,
        words: str | tuple[str, ...],
        method: str,
        path: str,
        body: Any = None,
        **how: Any,
    ) -> None:
        """Check that a request is refused with a message."""
        response = self.call(method, path, body, **how)
        shown = f'{method} {path} {body}: {response.text}'
        self.assertEqual(status, response.status_int, shown)
        (fault,) = response.json.values()
        for each in (words,) if isinstance(words, str) else words:
            self.assertIn(each, fault['message'])

    def create(self, metadata: Any = None, **values: Any) -> Answer:
        """Return the body of a request to create a volume."""
        volume = {'size': 1, 'volume_type': 'rbd', **values}
        if metadata is not None:
            volume['metadata'] = metadata
        return {'volume': {k: v for k, v in volume.items() if v is not None}}

    def volume(
        self,
        metadata: dict[str, str] | None = None,
        made: dict[str, str] | None = None,
        volume_type: str = 'rbd',
        **values: Any,
    ) -> Any:
        """Create a volume in the database."""
        context = cinder_context.RequestContext(
            fake.USER_ID, fake.PROJECT_ID, is_admin=True
        )
        values.setdefault('host', f'host@{volume_type}#{volume_type}')
        values.setdefault('availability_zone', 'nova')
        values.setdefault('volume_type_id', self.types[volume_type])
        volume = utils.create_volume(
            context,
            metadata=metadata,
            admin_metadata=recorded.rows_of(made or {}),
            **values,
        )
        volume.provider_id = recorded.text_of(made or {}, volume.name_id)
        volume.save()
        return volume

    def enforce_new_defaults(self) -> None:
        """Enforce the policy defaults of newer releases of Cinder."""
        self.override_config('enforce_new_defaults', True, 'oslo_policy')
        cinder_policy.reset()
        self.addCleanup(cinder_policy.reset)

    def set_specs(self, name: str, **specs: str) -> None:
        """Set extra specs without checks; ``rbd__x`` stands for ``rbd:x``."""
        db.volume_type_extra_specs_update_or_create(
            self.admin_context,
            self.types[name],
            {key.replace('__', ':'): value for key, value in specs.items()},
        )

    def add_type(
        self, name: str, specs: Mapping[str, str], is_public: bool = True
    ) -> str:
        """Create a volume type, if private without projects; return its ID."""
        values = {
            'name': name,
            'extra_specs': dict(specs),
            'is_public': is_public,
            'projects': [],
        }
        made = db.volume_type_create(self.admin_context, values)
        self.types[name] = made['id']
        return str(made['id'])

    def snapshot(self, volume: Any) -> str:
        """Create a snapshot in the database; return its ID."""
        made = utils.create_snapshot(
            self.admin_context,
            volume.id,
            status='available',
            project_id=volume.project_id,
            volume_type_id=volume.volume_type_id,
            volume_size=volume.size,
        )
        return str(made.id)

    def add_attachment(
        self, volume_id: str, status: str, **values: Any
    ) -> Any:
        """Create an attachment in the database."""
        made = objects.VolumeAttachment(
            self.admin_context,
            volume_id=volume_id,
            attach_status=status,
            **values,
        )
        made.create()
        return made

    def override_policies(self, **rules: str) -> None:
        """Override policies; ``a__b`` stands for ``a:b``."""
        file = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'policy.yaml'
        )
        file.write_text(jsonutils.dumps(rules).replace('__', ':'))
        self.override_config('policy_file', str(file), group='oslo_policy')
        cinder_policy.reset()
        self.addCleanup(cinder_policy.reset)

    def volumes(self) -> int:
        """Return the number of volumes."""
        return len(objects.VolumeList.get_all(self.admin_context))
