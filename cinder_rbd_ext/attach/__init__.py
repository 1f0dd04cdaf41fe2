# SPDX-License-Identifier: Apache-2.0

"""The cache mode of an attachment, and who requests a connection."""
