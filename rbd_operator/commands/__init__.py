# SPDX-License-Identifier: Apache-2.0

"""Commands for the ``openstack`` client, as a plug-in.

The plug-in is installed with the client and does not require Cinder.
"""
