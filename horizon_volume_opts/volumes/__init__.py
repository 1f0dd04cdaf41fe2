# SPDX-License-Identifier: Apache-2.0

"""Additions to the panel Project > Volumes."""
