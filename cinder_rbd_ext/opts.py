#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The driver's options, set in the section of a back end in cinder.conf.

``[backend_defaults]`` sets them for all back ends.
"""

from typing import Any

from oslo_config import cfg

from cinder_rbd_ext import config_types
from rbd_volume_options import cache_modes
from rbd_volume_options import limits
from rbd_volume_options import wire

#: Cinder's section for the options of all back ends
#: (``cinder.volume.configuration.SHARED_CONF_GROUP``, not imported so that the
#: options can be listed without Cinder).
SHARED_GROUP = 'backend_defaults'

#: Whether operations share connections to the cluster.
SHARE_CONNECTIONS = 'rbd_share_connections'

_UNSET = 'If unset, the stock driver decides.'

BACKEND_OPTS: list[cfg.Opt] = [
    cfg.Opt(
        wire.RBD_VOLUME_OBJECT_SIZE,
        type=config_types.OBJECT_SIZE,
        help=(
            'Default size of the RADOS objects of volumes, such as 4M. The '
            'metadata and the type of a volume override it with '
            'rbd:object_size. A power of two from 4 KiB to 32 MiB, in bytes '
            'or with a unit. If unset, rbd_store_chunk_size applies.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_STRIPE_UNIT,
        type=config_types.STRIPE_UNIT,
        help=(
            'Default stripe unit of volumes, such as 64K. The metadata and '
            'the type of a volume override it with rbd:stripe_unit. A factor '
            'of the object size, at least 512 bytes. Requires '
            'rbd_volume_stripe_count. If unset, rbd_default_stripe_unit of '
            'ceph.conf or of the pool applies.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_STRIPE_COUNT,
        type=config_types.STRIPE_COUNT,
        help=(
            'Default stripe count of volumes. The metadata and the type of a '
            'volume override it with rbd:stripe_count. Requires '
            'rbd_volume_stripe_unit.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_OBJECT_MAP,
        type=config_types.OBJECT_MAP,
        help=(
            'Whether volumes get an object map by default. The metadata and '
            'the type of a volume override it with rbd:object_map. true adds '
            'exclusive-lock, object-map and fast-diff to the image features, '
            f'false removes object-map and fast-diff. {_UNSET}'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_FEATURES,
        type=config_types.FEATURES,
        help=(
            'Default set of image features of volumes, such as '
            'layering,exclusive-lock,object-map,fast-diff. The metadata and '
            'the type of a volume override it with rbd:features. Must include '
            'layering. If unset, rbd_default_features of ceph.conf applies.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_CACHE_MODE,
        type=config_types.CACHE_MODE,
        help=(
            'Default cache mode of attachments. The metadata and the type of '
            'a volume override it with rbd:cache_mode. Must be one of '
            'rbd_allowed_cache_modes. If unset, the compute host decides '
            '([libvirt] disk_cachemodes).'
        ),
    ),
    cfg.Opt(
        wire.RBD_ALLOWED_CACHE_MODES,
        type=config_types.CACHE_MODES,
        default=','.join(m.value for m in cache_modes.SAFE_CACHE_MODES),
        help=(
            'Comma-separated list of the cache modes that are allowed. '
            'unsafe ignores the flushes of the guest, and is allowed only if '
            'it is listed.'
        ),
    ),
    cfg.StrOpt(
        wire.RBD_CACHE_MODE_ENFORCEMENT,
        default=wire.STRICT,
        choices=[
            (wire.STRICT, 'The attachment is refused.'),
            (
                wire.LENIENT,
                'The volume is attached without the requested mode, as by the '
                'stock driver, and a warning is logged.',
            ),
        ],
        help=(
            'Handling of an attachment whose cache mode the compute host does '
            'not offer, or which conf_rbd_cache of the RBD image overrides. '
            'A host offers the modes of [rbd_cache] allowed_modes in its '
            'nova.conf. A host without the plug-in offers no mode. Use '
            'lenient while compute hosts are upgraded. A mode that is not in '
            'rbd_allowed_cache_modes is always refused.'
        ),
    ),
    cfg.Opt(
        wire.RBD_TENANT_OPTIONS,
        type=config_types.KEYS,
        default='',
        help=(
            'Comma-separated list of the keys that tenants may set in the '
            'metadata of volumes, such as rbd:stripe_unit,rbd:stripe_count. '
            'A volume type overrides it with rbd:tenant_options. If empty, '
            'tenants may set no keys.'
        ),
    ),
    cfg.IntOpt(
        wire.RBD_MAX_STRIPE_COUNT,
        default=limits.DEFAULT_MAX_STRIPE_COUNT,
        min=1,
        help=(
            'Maximum stripe count in the metadata of a volume, in a volume '
            'type and in rbd_volume_stripe_count. librbd has no limit. A read '
            'of a full stripe accesses this many objects.'
        ),
    ),
    cfg.Opt(
        wire.RBD_MIN_OBJECT_SIZE,
        type=config_types.OBJECT_SIZE,
        default='64K',
        help=(
            'Minimum object size in the metadata of a volume and in a volume '
            'type, and minimum that a volume can inherit. Small objects slow '
            'down deletion and scrubbing, which take one request per object. '
            'Does not apply to rbd_volume_object_size.'
        ),
    ),
    cfg.IntOpt(
        wire.RBD_MAX_OBJECTS,
        default=limits.DEFAULT_MAX_OBJECTS,
        min=1,
        help=(
            'Maximum number of RADOS objects of a volume, if its metadata or '
            'type sets a layout with objects smaller than 4 MiB. The default '
            'allows 1 TiB with objects of 64 KiB.'
        ),
    ),
    cfg.BoolOpt(
        wire.RBD_REQUIRE_WHOLE_STRIPES,
        default=True,
        help=(
            'Require that the size of a striped volume is a multiple of '
            'stripe_unit x stripe_count, when it is created and when it is '
            'extended. librbd does not require it.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_DATA_POOL,
        type=config_types.POOL,
        help=(
            'Default data pool of volumes, such as an erasure-coded pool. A '
            'volume type overrides it with rbd:data_pool. The header and the '
            'object map stay in rbd_pool. The back end reports the capacity '
            'of the data pool. If unset, the data is stored in rbd_pool.'
        ),
    ),
    cfg.BoolOpt(
        SHARE_CONNECTIONS,
        default=True,
        help=(
            'Whether the operations of the back end share at most four '
            'connections to the Ceph cluster. An operation that copies data, '
            'such as flattening, uses a separate connection, and checks of '
            'data pools share further ones. Attachments '
            'get the addresses of the monitors on a shared connection, '
            'without running the ceph program. If false, each operation '
            'connects and disconnects, as with the stock driver.'
        ),
    ),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(SHARED_GROUP, BACKEND_OPTS)]


def register_opts(conf: Any, group: str = SHARED_GROUP) -> None:
    """Register the options in a section, for tests and tools.

    The driver does not call this. It uses Cinder's configuration object, which
    also reads the shared section.
    """
    conf.register_opts(BACKEND_OPTS, group=group)
