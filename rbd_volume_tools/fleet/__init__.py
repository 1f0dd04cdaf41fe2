# SPDX-License-Identifier: Apache-2.0

"""Changes volume types, many volumes, and object maps."""
