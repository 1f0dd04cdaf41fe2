# SPDX-License-Identifier: Apache-2.0

"""The clients in the documentation, on a real cloud.

They need programs that ``tools/runner/client_programs.py`` installs.
"""
