# SPDX-License-Identifier: Apache-2.0

"""Changes volume types, many volumes, and object maps.

Only :mod:`rbd_volume_tools.fleet.recorded` needs Cinder itself.
"""
