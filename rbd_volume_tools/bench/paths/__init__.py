# SPDX-License-Identifier: Apache-2.0

"""The paths to a volume: the programs that send the requests of a plan."""
