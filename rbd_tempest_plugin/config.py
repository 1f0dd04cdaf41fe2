# SPDX-License-Identifier: Apache-2.0

"""Options of the tests, in tempest.conf."""

from oslo_config import cfg

from rbd_volume_options.families import cache_modes

SERVICE_OPTION = cfg.BoolOpt(
    'rbd_volume_options',
    default=False,
    help=(
        'Whether the API of Cinder has the extension os-rbd-volume-options, '
        'and the back ends of the tested volume type have the driver.'
    ),
)

GROUP = cfg.OptGroup(
    'rbd_volume_options',
    title='RBD volume options',
    help='Values that the tests of RBD volume options use.',
)

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        'volume_type',
        help=(
            'Volume type of the volumes that tests create. The types that '
            'tests create have its extra specs, except for rbd: keys. If '
            'unset, [volume] volume_type applies.'
        ),
    ),
    cfg.StrOpt(
        'object_size',
        default='1M',
        help='Object size of striped volumes, in bytes or with a unit.',
    ),
    cfg.StrOpt(
        'stripe_unit',
        default='64K',
        help='Stripe unit of striped volumes, in bytes or with a unit.',
    ),
    cfg.IntOpt(
        'stripe_count',
        default=8,
        min=2,
        help='Stripe count of striped volumes.',
    ),
    cfg.ListOpt(
        'cache_modes',
        default=[mode.value for mode in cache_modes.SAFE_CACHE_MODES],
        help='Cache modes in which volumes are attached to servers.',
    ),
]

FEATURE_GROUP = cfg.OptGroup(
    'rbd_volume_options_feature_enabled',
    title='Enabled features of RBD volume options',
    help='RBD volume options that the cloud allows.',
)

FEATURES: list[cfg.Opt] = [
    cfg.BoolOpt(
        'tenant_options',
        default=True,
        help=(
            'Whether tenants may set all keys on volumes of the type '
            '(rbd_tenant_options of the back end). If false, tests set the '
            'options in volume types.'
        ),
    ),
    cfg.BoolOpt(
        'cache_mode',
        default=False,
        help=(
            'Whether compute hosts attach volumes with the requested cache '
            'mode.'
        ),
    ),
    cfg.BoolOpt(
        'retype_with_migration',
        default=True,
        help=(
            'Whether the back end migrates a volume for a retype to another '
            'layout.'
        ),
    ),
]
