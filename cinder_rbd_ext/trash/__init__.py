# SPDX-License-Identifier: Apache-2.0

"""Images in the trash of a pool, and who needs them."""
