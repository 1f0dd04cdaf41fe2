# SPDX-License-Identifier: Apache-2.0

"""Failures of requests to Cinder."""

from cinderclient import exceptions
import requests.exceptions

#: What a request through cinderclient raises if it fails: the error response
#: of Cinder, or no response.
OF_CINDER: tuple[type[Exception], ...] = (
    exceptions.ClientException,
    exceptions.ConnectionError,
    requests.exceptions.RequestException,
)
