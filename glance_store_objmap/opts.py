# SPDX-License-Identifier: Apache-2.0

"""The options of the store, in its section of glance-api.conf.

The section ``[backend_defaults]`` sets them for all stores. The options of the
stock RBD store apply as well.
"""

from oslo_config import cfg

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_options import ownership

#: The section of glance_store for options of all stores
#: (``glance_store.driver.SHARED_CONF_GROUP``). It is not imported, so that
#: the options can be listed without glance_store.
SHARED_GROUP = 'backend_defaults'

#: Measured with writes of 4 and 8 MiB, md5 and sha512, and one OSD: more
#: than four writes in flight were not faster.
DEFAULT_WRITE_DEPTH = 4
#: Reads need more memory: four in flight took twice as much as three.
DEFAULT_READ_DEPTH = 3
MAX_DEPTH = 64

#: Mebibytes.
DEFAULT_UPLOAD_MEMORY = 256
MIN_UPLOAD_MEMORY = 16

STORE_OPTS: list[cfg.Opt] = [
    cfg.Opt(
        'rbd_store_object_map',
        type=definitions.config_type(
            features.parse_object_map, 'boolean value'
        ),
        help=(
            'Whether uploaded images get an object map. true adds '
            'exclusive-lock, object-map and fast-diff to the image features, '
            'false removes object-map and fast-diff. If unset, '
            'rbd_store_features or rbd_default_features of ceph.conf applies.'
        ),
    ),
    cfg.Opt(
        'rbd_store_features',
        type=definitions.config_type(
            features.parse_features, 'list of image features'
        ),
        help=(
            'Complete set of features of uploaded images, such as '
            'layering,exclusive-lock,object-map,fast-diff. Must include '
            'layering, which clones of Cinder and Nova require. If unset, '
            'rbd_default_features of ceph.conf applies.'
        ),
    ),
    cfg.Opt(
        'rbd_store_object_size',
        type=definitions.config_type(
            layout.parse_object_size, 'size in bytes'
        ),
        help=(
            'Size of the RADOS objects of uploaded images, such as 4M. A '
            'power of two from 4 KiB to 32 MiB, in bytes or with a unit. '
            'If unset, rbd_store_chunk_size applies.'
        ),
    ),
    cfg.Opt(
        'rbd_store_stripe_unit',
        type=definitions.config_type(
            layout.parse_stripe_unit, 'size in bytes'
        ),
        help=(
            'Stripe unit of uploaded images, such as 64K. A factor of the '
            'object size, at least 512 bytes. Requires '
            'rbd_store_stripe_count. If unset, rbd_default_stripe_unit of '
            'ceph.conf or of the pool applies.'
        ),
    ),
    cfg.Opt(
        'rbd_store_stripe_count',
        type=definitions.config_type(layout.parse_stripe_count, 'count'),
        help=(
            'Stripe count of uploaded images. Requires rbd_store_stripe_unit.'
        ),
    ),
    cfg.IntOpt(
        'rbd_store_write_depth',
        default=DEFAULT_WRITE_DEPTH,
        min=1,
        max=MAX_DEPTH,
        help=(
            'Number of concurrent writes of an upload. Each write has the '
            'size rbd_store_chunk_size, but at most 4 MiB. All uploads of a '
            'process share the memory of rbd_store_upload_memory.'
        ),
    ),
    cfg.IntOpt(
        'rbd_store_upload_memory',
        default=DEFAULT_UPLOAD_MEMORY,
        min=MIN_UPLOAD_MEMORY,
        help=(
            'Memory in MiB for the data of all uploads of a process. Each '
            'upload gets an equal share. Many concurrent uploads use smaller '
            'and fewer writes, of at least 256 KiB. Stores of one process '
            'share the memory, so they should have the same value.'
        ),
    ),
    cfg.IntOpt(
        'rbd_store_read_depth',
        default=DEFAULT_READ_DEPTH,
        min=1,
        max=MAX_DEPTH,
        help=(
            'Number of concurrent reads of a download. Each read has the size '
            'rbd_store_chunk_size, but at most 4 MiB.'
        ),
    ),
    cfg.Opt(
        ownership.CLOUD_ID,
        type=definitions.config_type(ownership.check_cloud_id, 'UUID'),
        help=ownership.HELP,
    ),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator."""
    return [(SHARED_GROUP, STORE_OPTS)]
