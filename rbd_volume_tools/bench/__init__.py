# SPDX-License-Identifier: Apache-2.0

"""Benchmarks of layouts, image features and cache modes.

A plan (YAML) is expanded into combinations, each of which is measured several
times. Results are stored in a folder as JSON, and reports are generated from
them. Only images that a benchmark has created are written or removed.
"""
