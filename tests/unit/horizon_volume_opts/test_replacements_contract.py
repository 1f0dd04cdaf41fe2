# SPDX-License-Identifier: Apache-2.0

"""What the scripts of the plug-in expect of Horizon's scripts, as a table.

What the Python modules expect is tested by the tests of the forms, which run
on all releases. No unit test runs scripts.
"""

from tests import runs
from tests.unit import base
from tests.unit import contract

_SCRIPTS = 'horizon_volume_opts/static/horizon_volume_opts'
_IMAGES = f'{_SCRIPTS}/images/images.module.js'
_STEP = f'{_SCRIPTS}/images/options.controller.js'
_DASHBOARD = 'openstack_dashboard'
_CORE = 'static/app/core'

#: The package, the file, our file and the texts.
_PASSAGES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        _DASHBOARD,
        'templates/horizon/_scripts.html',
        _IMAGES,
        ('var STATIC_URL =',),
    ),
    (
        'horizon',
        'static/horizon/js/horizon.js',
        f'{_SCRIPTS}/js',
        ('horizon.addInitFunction =',),
    ),
    (
        'horizon',
        'static/horizon/js/horizon.modals.js',
        f'{_SCRIPTS}/js',
        ('horizon.modals.addModalInitFunction =',),
    ),
    (
        'horizon',
        'static/framework/util/http/http.js',
        _IMAGES,
        ("'horizon.framework.util.http.service'",),
    ),
    (
        'horizon',
        'static/framework/widgets/wizard/wizard.html',
        _IMAGES,
        ('step.templateUrl', 'step.formName'),
    ),
    (
        'horizon',
        'static/framework/widgets/wizard/wizard.controller.js',
        _IMAGES,
        ('step.checkReadiness',),
    ),
    (
        'horizon',
        'static/framework/util/extensible/extensible.service.js',
        _IMAGES,
        ('container.append = function(item',),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/images/workflows/create-volume.service.js',
        _IMAGES,
        (
            ".module('horizon.app.core.images')",
            ".factory('horizon.app.core.images.workflows.create-volume"
            ".service'",
        ),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/images/actions/create-volume.service.js',
        _IMAGES,
        ('cinder.createVolume(stepModels.volumeForm)',),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/openstack-service-api/cinder.service.js',
        _IMAGES,
        (
            ".factory('horizon.app.core.openstack-service-api.cinder'",
            "apiService.post('/api/cinder/volumes/', newVolume)",
        ),
    ),
    (
        _DASHBOARD,
        f'{_CORE}/images/steps/create-volume/create-volume.controller.js',
        _STEP,
        (
            '$scope.stepModels.volumeForm = ctrl.volume = {',
            'metadata: {}',
            'ctrl.volume.volume_type = ',
        ),
    ),
    (
        _DASHBOARD,
        'api/rest/cinder.py',
        _STEP,
        ("metadata=request.DATA['metadata']",),
    ),
)


@runs.tags(runs.RELEASES)
class ContractTest(base.TestCase):
    def test_installed_horizon_keeps_the_contract(self) -> None:
        clauses = [
            contract.Passage(package, file, words, ours)
            for package, file, ours, words in _PASSAGES
        ]
        self.assertEqual([], contract.problems('horizon', clauses))
