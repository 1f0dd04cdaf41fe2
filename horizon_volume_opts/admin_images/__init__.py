# SPDX-License-Identifier: Apache-2.0

"""The admin panel *RBD Images*: object maps and layouts in use."""
