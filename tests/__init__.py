# SPDX-License-Identifier: Apache-2.0

"""Tests: unit, structure, functional (real Ceph), cloud (real OpenStack)."""

import pathlib
import sys

# tools/ holds programs, not an installed package; tests of them, and of a Ceph
# cluster that they start, import `sandbox_cloud` and `runner`. Here and not in
# a runner, so that any runner (stestr, tox, an editor) finds them.
_TOOLS = str(pathlib.Path(__file__).resolve().parent.parent / 'tools')
if _TOOLS not in sys.path:
    sys.path.append(_TOOLS)
