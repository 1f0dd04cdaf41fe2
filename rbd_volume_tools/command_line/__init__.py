# SPDX-License-Identifier: Apache-2.0

"""What the commands for operators, benchmarks and users share."""
