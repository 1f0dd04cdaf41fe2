# SPDX-License-Identifier: Apache-2.0

"""Cache modes of individual RBD volumes in Nova's libvirt driver.

nova-compute loads this package by the entry point of
:mod:`nova_rbd_cache.plugin`.
"""
