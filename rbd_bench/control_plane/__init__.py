# SPDX-License-Identifier: Apache-2.0

"""Benchmarks of the control plane, with rally.

A plan (YAML) becomes tasks of rally, which sends the requests. Two volume
types are measured in turns. rally is a program in an environment of its own:
its requirements are not those of the package.
"""
