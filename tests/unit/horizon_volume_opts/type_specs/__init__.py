# SPDX-License-Identifier: Apache-2.0

"""Extra specs, with real Horizon forms and a Cinder that keeps them."""
