# SPDX-License-Identifier: Apache-2.0

"""Tests of rbd_volume_tools.doctor."""
