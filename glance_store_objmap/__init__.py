# SPDX-License-Identifier: Apache-2.0

"""A Glance store for RBD images with a configured layout and features."""
