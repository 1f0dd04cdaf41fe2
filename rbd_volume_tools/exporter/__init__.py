# SPDX-License-Identifier: Apache-2.0

"""Metrics of an audit for Prometheus."""
