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

_UNSET = 'Unset: as the stock driver does.'

BACKEND_OPTS: list[cfg.Opt] = [
    cfg.Opt(
        wire.RBD_VOLUME_OBJECT_SIZE,
        type=config_types.OBJECT_SIZE,
        help=(
            'Size of the RADOS objects of volumes for which neither their own '
            'metadata nor their type names rbd:object_size, such as 4M. A '
            'power of two from 4 KiB to 32 MiB, in bytes or with a unit. '
            'Unset: rbd_store_chunk_size.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_STRIPE_UNIT,
        type=config_types.STRIPE_UNIT,
        help=(
            'Stripe unit of volumes for which nothing nearer names one, such '
            'as 64K. A '
            'factor of the object size, at least 512 bytes, given together '
            'with rbd_volume_stripe_count. Unset: rbd_default_stripe_unit of '
            'ceph.conf or of the pool.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_STRIPE_COUNT,
        type=config_types.STRIPE_COUNT,
        help=(
            'Stripe count of volumes for which nothing nearer names one, '
            'given together with rbd_volume_stripe_unit.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_OBJECT_MAP,
        type=config_types.OBJECT_MAP,
        help=(
            'Whether volumes get an object map where nothing nearer says: '
            'true adds exclusive-lock, object-map and fast-diff, false takes '
            f'object-map and fast-diff away. {_UNSET}'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_FEATURES,
        type=config_types.FEATURES,
        help=(
            'The whole set of image features of volumes for which nothing '
            "nearer names one, in librbd's names, such as "
            'layering,exclusive-lock,object-map,fast-diff. Unset: '
            'rbd_default_features of ceph.conf.'
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_CACHE_MODE,
        type=config_types.CACHE_MODE,
        help=(
            'Cache mode of attachments of volumes for which nothing nearer '
            'names one. Must be listed in rbd_allowed_cache_modes. Unset: '
            'the compute host decides ([libvirt] disk_cachemodes).'
        ),
    ),
    cfg.Opt(
        wire.RBD_ALLOWED_CACHE_MODES,
        type=config_types.CACHE_MODES,
        default=','.join(m.value for m in cache_modes.SAFE_CACHE_MODES),
        help=(
            'Cache modes that may be asked for. unsafe, which drops the '
            "guest's flushes, is offered only where it is listed here."
        ),
    ),
    cfg.StrOpt(
        wire.RBD_CACHE_MODE_ENFORCEMENT,
        default=wire.STRICT,
        choices=[
            (wire.STRICT, 'The attachment is refused.'),
            (
                wire.LENIENT,
                'It is made without the mode, as on a stock host, with a '
                'warning in the log.',
            ),
        ],
        help=(
            'What becomes of an attachment whose cache mode the compute host '
            "does not offer, or the RBD image's own conf_rbd_cache defeats. "
            'A host offers the modes of its [rbd_cache] allowed_modes in '
            'nova.conf, and none at all without the plug-in; lenient is for '
            'the time in which hosts are upgraded. A mode that '
            'rbd_allowed_cache_modes lacks is always refused.'
        ),
    ),
    cfg.Opt(
        wire.RBD_TENANT_OPTIONS,
        type=config_types.KEYS,
        default='',
        help=(
            'Keys that tenants may set in the metadata of volumes whose type '
            'has no rbd:tenant_options of its own, such as '
            'rbd:stripe_unit,rbd:stripe_count. Empty: none.'
        ),
    ),
    cfg.IntOpt(
        wire.RBD_MAX_STRIPE_COUNT,
        default=limits.DEFAULT_MAX_STRIPE_COUNT,
        min=1,
        help=(
            'Largest stripe count that volume metadata, a type or '
            'rbd_volume_stripe_count may name. librbd has no limit; a read '
            'as large as a stripe touches this many objects.'
        ),
    ),
    cfg.Opt(
        wire.RBD_MIN_OBJECT_SIZE,
        type=config_types.OBJECT_SIZE,
        default='64K',
        help=(
            'Smallest object size that volume metadata or a type may name, '
            'or that a volume may inherit. Small objects make deletion and '
            'scrubbing slow: each object costs a request. Does not apply to '
            'rbd_volume_object_size.'
        ),
    ),
    cfg.IntOpt(
        wire.RBD_MAX_OBJECTS,
        default=limits.DEFAULT_MAX_OBJECTS,
        min=1,
        help=(
            'Largest number of RADOS objects that a volume may have if '
            'volume metadata or a type names a layout with objects smaller '
            'than 4 MiB. The default is 1 TiB in objects of 64 KiB.'
        ),
    ),
    cfg.BoolOpt(
        wire.RBD_REQUIRE_WHOLE_STRIPES,
        default=True,
        help=(
            'Refuse a striped volume whose size is no multiple of '
            'stripe_unit x stripe_count, when it is created and when it is '
            "extended. librbd doesn't need it."
        ),
    ),
    cfg.Opt(
        wire.RBD_VOLUME_DATA_POOL,
        type=config_types.POOL,
        help=(
            'Pool for the data of volumes whose type names no rbd:data_pool, '
            'such as an erasure-coded one; header and object map stay in '
            "rbd_pool. The backend's capacity is then that of this pool. "
            'Unset: the data is in rbd_pool too.'
        ),
    ),
    cfg.BoolOpt(
        SHARE_CONNECTIONS,
        default=True,
        help=(
            'Whether the operations of the back end share connections to the '
            'Ceph cluster: at most four, and one of its own for each '
            'operation that copies data, such as flattening. Attachments then '
            'get the addresses of the monitors on a connection, instead of '
            'running the ceph program. False: each operation connects and '
            'disconnects, as with the stock driver.'
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
