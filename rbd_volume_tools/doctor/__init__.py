# SPDX-License-Identifier: Apache-2.0

"""Checks of a controller or compute host: configuration and performance.

The package reads configuration files and queries Ceph. It does not import the
services: a host has only some of them, often in different Python environments.
"""
