# SPDX-License-Identifier: Apache-2.0

"""The commands ``openstack volume rbd``."""
