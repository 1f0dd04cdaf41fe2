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

"""Tests: unit, structure, functional (real Ceph), cloud (real OpenStack)."""

import pathlib
import sys

# tools/ holds programs, not an installed package; tests of them, and of a Ceph
# cluster that they start, import `sandbox_cloud` and `runner`. Here and not in
# a runner, so that any runner (stestr, tox, an editor) finds them.
_TOOLS = str(pathlib.Path(__file__).resolve().parent.parent / 'tools')
if _TOOLS not in sys.path:
    sys.path.append(_TOOLS)
