# SPDX-License-Identifier: Apache-2.0

"""The part of the suite for Cinder: an RBD driver with per-volume options."""
