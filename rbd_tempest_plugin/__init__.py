# SPDX-License-Identifier: Apache-2.0

"""Tempest tests of a cloud with the suite.

Tempest often has its own environment. Nothing here requires Cinder, and no
other part of the package requires Tempest.
"""
