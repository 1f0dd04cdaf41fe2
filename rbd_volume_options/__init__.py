# SPDX-License-Identifier: Apache-2.0

"""RBD volume options: keys, rules and precedence.

This package defines every rule of librbd that the suite relies on, once. It
uses only the standard library. The packages for Cinder, Nova, Glance and
Horizon import this package and do not import each other.
"""
