# SPDX-License-Identifier: Apache-2.0

"""The driver's options, set in the section of a back end in cinder.conf.

``[backend_defaults]`` sets them for all back ends.
"""

from oslo_config import cfg

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import operator_limits
from rbd_volume_options import ownership
from rbd_volume_options import registry
from rbd_volume_options.families import data_pool

#: ``SHARED_CONF_GROUP`` of Cinder, without which the options can be listed.
SHARED_GROUP = 'backend_defaults'

SHARE_CONNECTIONS = 'rbd_share_connections'
CONVERSION_VERIFY = 'rbd_conversion_verify'
CONVERSION_KEEP = 'rbd_conversion_keep'
ENSURE_VOLUME_TYPE = 'rbd_ensure_volume_type'
PURGES = 'rbd_purge_at_once'
PURGE_RATE = 'rbd_purge_rate'


def _limit_opt(option: operator_limits.ConfOption) -> cfg.Opt:
    if isinstance(option.default, bool):
        return cfg.BoolOpt(
            option.name, default=option.default, help=option.help
        )
    if isinstance(option.default, int):
        return cfg.IntOpt(
            option.name, default=option.default, min=1, help=option.help
        )
    return cfg.Opt(
        option.name,
        type=definitions.config_type(option.parse, 'size in bytes'),
        default=option.default,
        help=option.help,
    )


# Options that are not about the value of a key.
_OTHER_OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        ENSURE_VOLUME_TYPE,
        default=False,
        help=(
            'Whether the service creates a volume type with the name of the '
            'back end (volume_backend_name) when it starts, if no volume type '
            'is linked to the back end or has this name.'
        ),
    ),
    cfg.StrOpt(
        backend_settings.CACHE_MODE_ENFORCEMENT,
        default=backend_settings.STRICT,
        choices=[
            (backend_settings.STRICT, 'The attachment is refused.'),
            (
                backend_settings.LENIENT,
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
    *map(_limit_opt, operator_limits.CONF_OPTIONS),
    cfg.ListOpt(
        backend_settings.RBD_DATA_POOLS,
        item_type=definitions.config_type(data_pool.parse_pool, 'pool'),
        default=[],
        help=(
            'Pools that the dashboard offers as data pools of volume types '
            '(rbd:data_pool), if they exist and have the application rbd. If '
            'unset, it offers all such pools but rbd_pool.'
        ),
    ),
    cfg.Opt(
        ownership.CLOUD_ID,
        type=definitions.config_type(ownership.check_cloud_id, 'UUID'),
        help=ownership.HELP,
    ),
    cfg.BoolOpt(
        SHARE_CONNECTIONS,
        default=True,
        help=(
            'Whether the operations of the back end share a connection to the '
            'Ceph cluster. An operation that copies data, such as flattening, '
            'uses a separate connection, and so does a check of a data pool. '
            'Attachments get the addresses of the monitors on the shared '
            'connection, without running the ceph program. If false, each '
            'operation '
            'connects and disconnects, as with the stock driver.'
        ),
    ),
    cfg.BoolOpt(
        CONVERSION_VERIFY,
        default=True,
        help=(
            'Whether a retype that copies an image compares the contents of '
            'the copy and of all its snapshots with the image, before the '
            'copy replaces it. The comparison reads all data of both once. '
            'Sizes, snapshots, image metadata, parents and object maps are '
            'always compared.'
        ),
    ),
    cfg.IntOpt(
        CONVERSION_KEEP,
        default=86400,
        min=0,
        help=(
            'Number of seconds for which the trash of the pool keeps an image '
            'that a copy has replaced in a retype. The image uses space until '
            'then. It is removed earlier if the volume is deleted, if '
            'another copy replaces the image again, or if less than 10 '
            'percent of the pool is free.'
        ),
    ),
    cfg.IntOpt(
        PURGES,
        default=4,
        min=1,
        help=(
            'Maximum number of images that are removed from the trash of the '
            'pool at the same time. The driver moves deleted volumes there '
            'whose removal takes long, such as those with many objects and '
            'no valid object map, and volumes of deferred deletion. Projects '
            'take turns, and one project never has the last place.'
        ),
    ),
    cfg.IntOpt(
        PURGE_RATE,
        default=0,
        min=0,
        help=(
            'Maximum number of objects per second that all these removals '
            'together try to remove, whether the objects exist or not. 0 sets '
            'no limit.'
        ),
    ),
]


def backend_opts() -> list[cfg.Opt]:
    """Return the options of a back end."""
    opts = []
    for key in registry.conf_names():
        option = registry.OPTIONS[key]
        opts.append(
            cfg.Opt(
                option.conf_name,
                type=definitions.config_type(option.parse, option.conf_type),
                # An empty list, unlike an unset option, is a value.
                default=(
                    '' if option.kind is definitions.Kind.TENANTS else None
                ),
                help=option.conf_help,
            )
        )
        if option.allowed:
            opts.append(
                cfg.Opt(
                    option.allowed.option,
                    type=definitions.config_type(
                        option.allowed.parse, f'list of {option.conf_type}s'
                    ),
                    default=','.join(
                        map(definitions.as_text, option.allowed.default)
                    ),
                    help=option.allowed.conf_help,
                )
            )
    return [*opts, *_OTHER_OPTS]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(SHARED_GROUP, backend_opts())]
