# SPDX-License-Identifier: Apache-2.0

from tests import runs

load_tests = runs.loader(__file__)
