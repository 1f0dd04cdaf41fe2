# SPDX-License-Identifier: Apache-2.0

"""The audit: finds leftovers and contradictions of RBD images.

Nothing here changes an image. The package needs neither a volume service nor
its configuration: a connection to Ceph, and the APIs of the cloud.
"""
