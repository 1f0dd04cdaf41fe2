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

"""The options in section ``[rbd_cache]`` of nova.conf on a compute host.

nova-compute reads them when it starts.
"""

from typing import Any

from oslo_config import cfg

from nova_rbd_cache import config_types
from rbd_volume_options import cache_modes

GROUP = 'rbd_cache'

RBD_CACHE_OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        'enabled',
        default=True,
        help=(
            'Whether RBD volumes are attached with the cache mode that they '
            'ask for (rbd:cache_mode). False: nova-compute is stock in every '
            'respect, tells Cinder of no cache mode, and a volume that asks '
            'for one is refused by Cinder. Only the traits '
            '(CUSTOM_RBD_CACHE_*) that the host has reported are removed from '
            'its resource provider.'
        ),
    ),
    cfg.Opt(
        'allowed_modes',
        type=config_types.CACHE_MODES,
        default=','.join(m.value for m in cache_modes.SAFE_CACHE_MODES),
        help=(
            'Cache modes in which RBD volumes may be attached to servers on '
            'this host, a comma-separated list. unsafe drops '
            'the flushes of the guest, so that data is lost when the host '
            'fails, and is allowed only where it is listed. Volumes that ask '
            'for no mode have that of [libvirt] disk_cachemodes, whatever is '
            'listed here.'
        ),
    ),
    cfg.BoolOpt(
        'live_migrate_unsafe',
        default=False,
        help=(
            'Whether servers on this host that have a volume with cache mode '
            'unsafe may be live-migrated. QEMU drops the flush that ends a '
            'live migration as well, so that data that the guest has written '
            'can be lost although no host fails. False: the live migration is '
            'refused before it starts, and the server keeps running.'
        ),
    ),
    cfg.BoolOpt(
        'disk_iothread',
        default=False,
        help=(
            "Whether RBD volumes are served by their guest's I/O thread "
            'rather than by the main thread of its QEMU. From Nova 33 '
            '(2026.1) on each guest has one; with an older Nova nova-compute '
            'does not start with this set. Holds for disks on virtio-blk, '
            'from the next attachment or start of a server on.'
        ),
    ),
    cfg.IntOpt(
        'disk_queues',
        min=1,
        max=256,
        help=(
            'How many queues the disks of RBD volumes have in their guest. A '
            'guest uses no more than it has virtual processors. Unset: as '
            'QEMU has it, for each virtual processor one with machine types '
            'from 5.2 on, else one. Holds for disks on virtio-blk, from the '
            'next attachment or start of a server on.'
        ),
    ),
    cfg.Opt(
        'ephemeral_object_map',
        type=config_types.OBJECT_MAP,
        help=(
            "Whether the RBD images of servers' own disks ([libvirt] "
            'images_type = rbd) get an object map: true adds exclusive-lock, '
            'object-map and fast-diff, false takes object-map and fast-diff '
            'away. Unset: as stock Nova makes them, by rbd_default_features '
            'of ceph.conf.'
        ),
    ),
    cfg.Opt(
        'ephemeral_image_features',
        type=config_types.FEATURES,
        help=(
            "The whole set of features of the RBD images of servers' own "
            'disks ([libvirt] images_type = rbd), in the names of librbd, '
            'such as layering,exclusive-lock,object-map,fast-diff. Must hold '
            'layering, for snapshots of servers. Unset: as stock Nova makes '
            'them, by rbd_default_features of ceph.conf.'
        ),
    ),
]


def _group() -> cfg.OptGroup:
    # A new group each time: a group keeps state of the configuration that it
    # is registered with.
    return cfg.OptGroup(
        GROUP,
        title='RBD cache mode',
        help=(
            'Cache modes and disks of RBD volumes, and the RBD images that '
            'Nova makes.'
        ),
    )


def register(conf: Any) -> None:
    """Register the options with a configuration; repeated calls are safe."""
    conf.register_group(_group())
    conf.register_opts(RBD_CACHE_OPTS, group=GROUP)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(_group(), RBD_CACHE_OPTS)]
