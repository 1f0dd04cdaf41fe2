# SPDX-License-Identifier: Apache-2.0

"""The panel, with real Horizon code and a Cinder that pages."""
