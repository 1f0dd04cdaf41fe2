# SPDX-License-Identifier: Apache-2.0

"""Measurements in a guest: jobs, servers and volumes."""
