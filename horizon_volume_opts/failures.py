# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
