# SPDX-License-Identifier: Apache-2.0

"""Our keys in the forms for extra specs of volume types."""
