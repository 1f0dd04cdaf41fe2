# SPDX-License-Identifier: Apache-2.0

"""Queries of the driver to the Ceph cluster."""
