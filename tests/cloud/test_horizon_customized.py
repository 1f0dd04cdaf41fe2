# SPDX-License-Identifier: Apache-2.0

"""The dashboard with customizations of other people.

The first module is that of the documentation. The dashboard is restarted for
each, because it loads the module at its start.
"""

from collections.abc import Iterator
import contextlib
import pathlib

import requests

from sandbox_cloud import state
from sandbox_cloud import supervise
from tests import runs
from tests import tree
from tests.cloud import browser
from tests.cloud import volume_form

_DOCUMENTED = 'tests/unit/horizon_volume_opts/customization.py'
_NAME = 'customization_of_a_test'
_ENABLED = f"""
FEATURE = 'customized'
UPDATE_HORIZON_CONFIG = {{'customization_module': 'local.{_NAME}'}}
"""
#: Other forms and tables, as plug-ins with features of their own have them.
_CLASSES = """
from openstack_dashboard.dashboards.admin.volume_types.extras import forms
from openstack_dashboard.dashboards.admin.volume_types.extras import views
from openstack_dashboard.dashboards.project.volumes import forms as volumes
from openstack_dashboard.dashboards.project.volumes import tables
from openstack_dashboard.dashboards.project.volumes import views as pages


class AttachForm(volumes.AttachForm):
    pass


class RetypeForm(volumes.RetypeForm):
    pass


class CreateExtraSpec(forms.CreateExtraSpec):
    pass


class VolumesTable(tables.VolumesTable):
    class Meta(tables.VolumesTable.Meta):
        row_actions = (tables.EditVolume, tables.ExtendVolume)


pages.EditAttachmentsView.form_class = AttachForm
pages.RetypeView.form_class = RetypeForm
pages.VolumesView.table_class = VolumesTable
views.CreateView.form_class = CreateExtraSpec
"""
#: A plug-in of the browser, which runs before Angular starts the page.
_STEPS = """
document.addEventListener('DOMContentLoaded', function () {
  if (!window.angular) { return; }
  function without(name) {
    return ['$delegate', function (workflow) {
      if (name) { workflow.remove(name); }
      else { workflow.steps.shift(); }
      return workflow;
    }];
  }
  var launch = 'horizon.dashboard.project.workflow.launch-instance';
  var create = 'horizon.app.core.images';
  angular.module(launch).config(['$provide', function ($provide) {
    $provide.decorator(launch + '.workflow', without('source'));
  }]);
  angular.module(create).config(['$provide', function ($provide) {
    $provide.decorator(create + '.workflows.create-volume.service',
      ['$delegate', function () { return {steps: []}; }]);
  }]);
});
"""


@contextlib.contextmanager
def customized(text: str) -> Iterator[None]:
    """Load a customization module into the dashboard temporarily."""
    place = state.State(state.default_root())
    folder = pathlib.Path(place.etc, 'horizon')
    module = folder / 'local' / f'{_NAME}.py'
    enabled = folder / 'enabled' / '_9990_customized.py'
    try:
        module.write_text(text)
        enabled.write_text(_ENABLED)
        _restart(place)
        yield
    finally:
        enabled.unlink()
        module.unlink()
        _restart(place)


def _restart(place: state.State) -> None:
    supervisor = supervise.Supervisor(place, {})
    supervisor.stop('horizon')
    supervisor.start('horizon')


# Unit tests have these cases, too.
@runs.tags(runs.NIGHTLY)
class CustomizedTest(volume_form.FormTestCase):
    timeout = 600

    @contextlib.contextmanager
    def loaded(self, text: str) -> Iterator[None]:
        """Restart the dashboard with a module."""
        with customized(text):
            self.until(self.is_up)
            yield
        self.until(self.is_up)

    def is_up(self) -> bool:
        try:
            page = requests.get(f'{browser.DASHBOARD}/auth/login/', timeout=60)
        except requests.ConnectionError:
            return False
        return page.status_code == 200

    def bought(self) -> str | None:
        """Return the ID of a volume with metadata of the module, if any."""
        answer = self.request('GET', '/volumes/detail')
        return next(
            (
                each['id']
                for each in answer['volumes']
                if 'cost_center' in each['metadata']
            ),
            None,
        )

    def test_without_types_and_with_another_request(self) -> None:
        default = f'/default-types/{self.tenant.current_project_id}'
        self.addCleanup(self.request, 'DELETE', default, cloud=self.operator)
        body = {'default_type': {'volume_type': 'rbd'}}
        self.request('PUT', default, body, self.operator)
        with self.loaded((tree.ROOT / _DOCUMENTED).read_text()):
            self.check_everywhere(
                '/project/volumes/create/',
                volume_form.GROUP,
                self.shown_group,
                'customized-create',
            )
            self.open_form()
            self.fill('#id_size', '1')
            self.shown_group()
            self.choose('#id_rbd_object_size', '1 MiB')
            self.until_summary('(selected)')
            self.submit()
            volume = self.until(self.bought)
            self.addCleanup(self.remove, volume)
            self.wait_for(volume)
            self.assertEqual(
                {'cost_center': '42', 'rbd:object_size': '1M'},
                self.metadata(volume),
            )
            self.assertEqual(2**20, self.info(volume)['object_size'])
            self.open('/project/volumes/')
            self.find(f'tr[data-object-id="{volume}"]')
            self.assertFalse(self.all('[id$="__action_rbd_options"]'))
            self.check_quiet()

    def test_with_other_forms_and_tables(self) -> None:
        volume = self.created()
        with self.loaded(_CLASSES):
            for page, selector in (
                ('retype/', '[data-rbd-note]'),
                ('attach/', '#id_rbd_cache_mode_row'),
                ('rbd_options/', '.modal-body'),
            ):
                self.check_everywhere(
                    f'/project/volumes/{volume}/{page}',
                    selector,
                    lambda: (
                        self.pick('volume_type', 'fake')
                        if self.shown('[name="volume_type"] + div')
                        or self.all('select[name="volume_type"]')
                        else None
                    ),
                    f'customized-{page[:-1]}',
                )
            self.open('/project/volumes/')
            row = self.find(f'tr[data-object-id="{volume}"]')
            text = row.get_attribute('textContent') or ''
            self.assertIn('Extend Volume', text)
            self.check_quiet()

    def test_with_other_steps_of_wizards(self) -> None:
        command = 'Page.addScriptToEvaluateOnNewDocument'
        added = self.driver.execute_cdp_cmd(command, {'source': _STEPS})
        self.addCleanup(
            self.driver.execute_cdp_cmd,
            'Page.removeScriptToEvaluateOnNewDocument',
            added,
        )
        self.open('/project/images')
        self.find('hz-resource-table')
        self.open('/project/instances/')
        self.click('#instances__action_launch-ng')
        self.until_true(lambda: self.all('.ng-wizard .nav-item'))
        steps = [each.text for each in self.all('.ng-wizard .nav-item')]
        self.assertNotIn('Source', ' '.join(steps))
        self.assertIn('Flavor', ' '.join(steps))
        self.screenshot('customized-launch')
        # Stock pages of tenants have other errors, of requests.
        _urls, complaints = self._read_logs()
        errors = [
            message
            for message in complaints
            if any(x in message for x in ('provider', 'rbd', 'undefined'))
        ]
        self.assertEqual([], errors)
