# SPDX-License-Identifier: Apache-2.0

"""Tests of the additions to the project's panel of volumes."""
