# SPDX-License-Identifier: Apache-2.0

"""The commands ``cinder-rbd-ext bench``."""
