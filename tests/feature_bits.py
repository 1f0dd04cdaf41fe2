# SPDX-License-Identifier: Apache-2.0

"""The bits of image features, as in ``include/rbd/features.h`` of Ceph.

They are repeated here, so that a test of ``rbd_volume_options.features`` does
not compare the module with itself.
``tests/functional/test_librbd_behaviour.py`` compares them with the real
librbd.
"""

LAYERING = 1 << 0
STRIPING = 1 << 1
LOCK = 1 << 2
OBJECT_MAP = 1 << 3
FAST_DIFF = 1 << 4
DEEP_FLATTEN = 1 << 5
JOURNALING = 1 << 6
DATA_POOL = 1 << 7
#: States of an image, which librbd keeps in the same mask.
OPERATIONS = 1 << 8
MIGRATING = 1 << 9
NON_PRIMARY = 1 << 10

#: The object map and the feature that librbd enables with it.
MAP = OBJECT_MAP | FAST_DIFF
#: librbd's default for ``rbd_default_features``.
DEFAULT = LAYERING | LOCK | MAP | DEEP_FLATTEN
#: All features that an operator or a tenant may name.
FEATURES = DEFAULT | STRIPING | JOURNALING | DATA_POOL
