# SPDX-License-Identifier: Apache-2.0

"""A whole OpenStack cloud on one machine, for trying and testing."""
