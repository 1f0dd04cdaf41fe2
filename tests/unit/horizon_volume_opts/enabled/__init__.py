# SPDX-License-Identifier: Apache-2.0

"""Tests of the files for Horizon's enabled folder."""
