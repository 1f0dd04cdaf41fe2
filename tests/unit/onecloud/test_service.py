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

from onecloud import cloud
from onecloud import state
from tests.unit.onecloud.services import base


class UWSGITest(base.ServiceTestCase):
    def rendered(self, release: str, workers: int = 1) -> dict[str, str]:
        """Return what uWSGI is told of a service of a release."""
        found = cloud.Cloud(self.state, release)
        service = found.service('cinder')
        service.etc.mkdir(parents=True, exist_ok=True)
        found.render_uwsgi(service, 'cinder.wsgi.api', workers=workers)
        return dict(self.read(service.etc / 'uwsgi.ini')['uwsgi'])

    def test_threads(self) -> None:
        found = self.rendered(state.releases()[-1])
        self.assertEqual('1', found['processes'])
        self.assertEqual('4', found['threads'])

    def test_processes_where_services_are_on_eventlet(self) -> None:
        for release in ('2025.1', '2026.1'):
            found = self.rendered(release)
            self.assertEqual('2', found['processes'])
            self.assertEqual('1', found['threads'])
            self.assertEqual('3', self.rendered(release, 3)['processes'])
