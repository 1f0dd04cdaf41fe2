# SPDX-License-Identifier: Apache-2.0

"""Ceph in memory, for the tests of every package.

Fakes of one package's tests alone are beside these tests.
"""
