# SPDX-License-Identifier: Apache-2.0

"""A program that runs Horizon's own volume tests and returns the outcomes.

It runs in a separate process because Horizon's test helpers replace much of
the clients, and a process reads its settings once.
"""

import json
import pathlib
import sys
import unittest

from django import apps
from django.test import runner

_LABELS = (
    'openstack_dashboard.dashboards.project.volumes',
    'openstack_dashboard.dashboards.admin.volumes',
)


def _offer_everything() -> None:
    """Make the plug-in offer everything for each type of the stock tests.

    The stock tests fail at any unexpected request, including those of the
    plug-in.
    """
    from openstack_dashboard.test.test_data import utils as data

    from horizon_volume_opts import discovery
    from tests.unit.horizon_volume_opts import fake_cloud

    known = data.TestData()
    data.load_test_data(known)
    types = [
        fake_cloud.offered(each.name)
        for each in known.cinder_volume_types.list()
    ]
    discovery._ask = lambda request: types


def main(path: str, *labels: str) -> None:
    """Run the tests; write the outcomes to a file as JSON.

    This package has set up Django with the settings in
    DJANGO_SETTINGS_MODULE.

    :param labels: names of single tests; by default, all tests of volumes run
    """
    if apps.apps.is_installed('horizon_volume_opts'):
        _offer_everything()
    chosen = list(labels or _LABELS)
    suite = runner.DiscoverRunner(verbosity=0).build_suite(chosen)
    result = unittest.TestResult()
    suite.run(result)
    failed = {test.id() for test, _ in (*result.failures, *result.errors)}
    skipped = {test.id() for test, _ in result.skipped}
    answer = {
        'passed': result.testsRun - len(failed | skipped),
        'failed': sorted(failed),
        'skipped': sorted(skipped),
    }
    pathlib.Path(path).write_text(json.dumps(answer))


if __name__ == '__main__':
    main(*sys.argv[1:])
