# SPDX-License-Identifier: Apache-2.0

"""Errors that the sandbox reports to its user without a traceback."""


class SandboxError(Exception):
    """An error that the user can understand and correct."""
