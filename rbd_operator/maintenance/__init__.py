# SPDX-License-Identifier: Apache-2.0

"""Maintenance of existing images: object maps, leftovers and retypes.

Like the audit, the package needs a connection to Ceph and the APIs of the
cloud. Only
:mod:`rbd_operator.maintenance.recorded` needs Cinder itself.
"""
