# SPDX-License-Identifier: Apache-2.0

"""The API extension: what volumes may request, and the checks of requests.

The option ``osapi_volume_extension`` loads it; see
:mod:`cinder_rbd_ext.api.extension`.
"""
