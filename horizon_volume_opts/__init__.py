# SPDX-License-Identifier: Apache-2.0

"""RBD volume options in Horizon: volume forms, details and admin panels."""
