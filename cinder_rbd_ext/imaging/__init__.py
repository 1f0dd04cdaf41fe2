# SPDX-License-Identifier: Apache-2.0

"""Creation of RBD images of volumes, and the sources of volumes."""
