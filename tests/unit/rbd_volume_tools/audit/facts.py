# SPDX-License-Identifier: Apache-2.0

"""RBD images, volumes and records for tests."""

from typing import Any

from rbd_volume_options import features
from rbd_volume_options import layout
from rbd_volume_tools.audit import images
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import scan

IDENT = '6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11'
OTHER = '0d6a5f0b-5e0c-4d3c-8a56-0f5ffb5a3a70'
CINDER_POOL = 'host@rbd#rbd'
MAPPED = features.MAP_ON | {features.LAYERING, features.DEEP_FLATTEN}


def image(name: str = f'volume-{IDENT}', **values: Any) -> images.Image:
    """Return an RBD image of 1 GiB with a valid object map."""
    fields = {
        'size': 2**30,
        'image_layout': layout.ImageLayout(4 * 2**20),
        'image_features': MAPPED,
        'map_state': images.MapState.VALID,
        **values,
    }
    return images.Image('volumes', name, 'abc', **fields)


def snapshot(name: str, *children: str, **values: Any) -> images.Snapshot:
    """Return a snapshot with a valid object map."""
    fields = {
        'namespace': 'user',
        'size': 2**30,
        'map_state': images.MapState.VALID,
        **values,
    }
    return images.Snapshot(name=name, children=children, **fields)


def pool(*scanned: images.Image, **values: Any) -> scan.PoolScan:
    """Return a scan of the pool ``volumes``."""
    fields = {'unreadable': {}, 'trash': (), **values}
    return scan.PoolScan('volumes', scanned, **fields)


def volume(ident: str = IDENT, **values: Any) -> records.Volume:
    """Return an available volume."""
    fields = {
        'image_id': ident,
        'project': 'project',
        'volume_type': 'type',
        'pool': CINDER_POOL,
        'status': 'available',
        **values,
    }
    return records.Volume(ident, **fields)


def known(*volumes: records.Volume, **values: Any) -> records.Records:
    """Return records of volumes; those of Glance and Nova are empty."""
    fields = {
        'snapshots': frozenset(),
        'backups': frozenset(),
        'backends': {CINDER_POOL: 'volumes'},
        'images': frozenset(),
        'servers': frozenset(),
        **values,
    }
    return records.Records({each.image_id: each for each in volumes}, **fields)
