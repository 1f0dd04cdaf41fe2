# SPDX-License-Identifier: Apache-2.0

"""All commands: for operators, and for users."""
