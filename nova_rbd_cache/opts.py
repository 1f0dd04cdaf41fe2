# SPDX-License-Identifier: Apache-2.0

"""The options in section ``[rbd_cache]`` of nova.conf on a compute host.

nova-compute reads them when it starts.
"""

from typing import Any

from oslo_config import cfg

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import ownership
from rbd_volume_options.families import cache_modes

GROUP = 'rbd_cache'

RBD_CACHE_OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        'enabled',
        default=True,
        help=(
            'Whether RBD volumes are attached with the requested cache mode '
            '(rbd:cache_mode). If false, the plug-in is not active, '
            'nova-compute offers no cache modes to Cinder, and Cinder refuses '
            'to attach a volume that requests one. When nova-compute starts, '
            'it only removes the traits CUSTOM_RBD_CACHE_* from the resource '
            'provider of the host.'
        ),
    ),
    cfg.Opt(
        'allowed_modes',
        type=definitions.config_type(
            cache_modes.parse_cache_modes, 'list of cache modes'
        ),
        default=','.join(m.value for m in cache_modes.SAFE_CACHE_MODES),
        help=(
            'Comma-separated list of the cache modes in which RBD volumes '
            'can be attached to servers on this host. unsafe ignores the '
            'flushes of the guest, so data is lost if the host fails. It is '
            'allowed only if it is listed. A server that is moved to this '
            'host with a volume in another mode gets none, until it starts on '
            'a host that allows the mode. A volume that does not request a '
            'mode gets that of [libvirt] disk_cachemodes, which does not have '
            'to be listed here.'
        ),
    ),
    cfg.BoolOpt(
        'live_migrate_unsafe',
        default=False,
        help=(
            'Whether servers on this host that have a volume with cache mode '
            'unsafe may be live-migrated. QEMU ignores the flush at the end '
            'of a live migration as well, so data can be lost although no '
            'host fails. If false, the live migration is refused before it '
            'starts, and the server keeps running.'
        ),
    ),
    cfg.BoolOpt(
        'disk_iothread',
        default=False,
        help=(
            'Whether the I/O thread of the guest serves RBD volumes, instead '
            'of the main thread of QEMU. Requires Nova 33 (2026.1) or later; '
            'an older nova-compute does not start with this option. Applies '
            'to virtio-blk disks, at the next attachment or the next start of '
            'the server.'
        ),
    ),
    cfg.IntOpt(
        'disk_queues',
        min=1,
        max=256,
        help=(
            'Number of queues of RBD volumes in the guest. A guest uses at '
            'most one queue per virtual CPU. If unset, QEMU decides: one '
            'queue per virtual CPU with machine types 5.2 and later, one '
            'queue with older types. Applies to virtio-blk disks, at the next '
            'attachment or the next start of the server.'
        ),
    ),
    cfg.Opt(
        'ephemeral_object_map',
        type=definitions.config_type(
            features.parse_object_map, 'boolean value'
        ),
        help=(
            'Whether the RBD images of ephemeral disks ([libvirt] images_type '
            '= rbd) get an object map. true adds exclusive-lock, object-map '
            'and fast-diff to the image features, false removes object-map '
            'and fast-diff. If unset, rbd_default_features of ceph.conf '
            'applies.'
        ),
    ),
    cfg.Opt(
        'ephemeral_image_features',
        type=definitions.config_type(
            features.parse_features, 'list of image features'
        ),
        help=(
            'Complete set of features of the RBD images of ephemeral disks '
            '([libvirt] images_type = rbd), such as '
            'layering,exclusive-lock,object-map,fast-diff. Must include '
            'layering, which snapshots of servers require. If unset, '
            'rbd_default_features of ceph.conf applies.'
        ),
    ),
    cfg.Opt(
        'cloud_id',
        type=definitions.config_type(ownership.check_cloud_id, 'UUID'),
        help=ownership.HELP,
    ),
]


def _group() -> cfg.OptGroup:
    # A new group each time: a group keeps state of the configuration that it
    # is registered with.
    return cfg.OptGroup(
        GROUP,
        title='RBD cache mode',
        help=(
            'Cache modes and disks of RBD volumes, and the features of the '
            'RBD images that Nova creates.'
        ),
    )


def register(conf: Any) -> None:
    """Register the options with a configuration; repeated calls are safe."""
    conf.register_group(_group())
    conf.register_opts(RBD_CACHE_OPTS, group=GROUP)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(_group(), RBD_CACHE_OPTS)]
