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

"""The audit report that the command writes."""

import datetime
import json
import pathlib
import tempfile

from django.test import utils

from cinder_rbd_ext.audit import findings
from cinder_rbd_ext.audit import report
from horizon_volume_opts.admin_images import audit
from horizon_volume_opts.admin_images import images
from tests.unit import base

_ONE = '11111111-1111-4111-8111-111111111111'
_OTHER = '22222222-2222-4222-8222-222222222222'
_State = images.MapState


def _image(ident: str, state: _State = _State.UNCHECKED) -> images.Image:
    return images.Image('h@b#p', 'gold', state, ident=ident)


class ReportTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, 'report.json')

    def read(self, text: str | None = None) -> audit.Report:
        if text is not None:
            self.path.write_text(text)
        chosen = {'audit_report': str(self.path)}
        with utils.override_settings(RBD_VOLUME_OPTIONS=chosen):
            return audit.read()

    def written(self, **states: str) -> str:
        """Return a report of the command with the given RBD images."""
        made = report.Report(
            datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
            1.0,
            (),
            (
                findings.Finding(
                    findings.MAP_INVALID, 'p', f'volume-{_ONE}', volume=_ONE
                ),
                findings.Finding(findings.ORPHAN_DISK, 'p', 'x_disk', 'lost'),
            ),
            (),
        ).plain()
        made['images'] = [
            {'name': f'volume-{_ONE}', 'object_map': 'invalid', 'used': 0},
            {'name': f'volume-{_OTHER}', 'object_map': 'none', 'used': None},
            {'name': 'x_disk', 'object_map': 'none'},
        ]
        return json.dumps(made)

    def test_state_and_findings_of_an_image(self) -> None:
        found = self.read(self.written())
        checked = found.checked(_image(_ONE))
        self.assertIs(_State.INVALID, checked.map_state)
        self.assertEqual(0, checked.used)
        self.assertIsNone(found.checked(_image(_OTHER)).used)
        self.assertEqual(('object-map-invalid',), checked.findings)
        self.assertEqual('2026-01-02T00:00:00+00:00', found.taken)

    def test_findings_without_a_volume(self) -> None:
        (other,) = self.read(self.written()).others
        self.assertEqual(
            {
                'kind': 'orphan-disk',
                'pool': 'p',
                'image': 'x_disk',
                'detail': 'lost',
            },
            other,
        )

    def test_the_record_is_newer(self) -> None:
        found = self.read(self.written())
        for before, after in (
            (_image(_OTHER), _State.UNCHECKED),
            (_image(_ONE, _State.NONE), _State.NONE),
            (_image(_OTHER, _State.UNKNOWN), _State.NONE),
        ):
            self.assertIs(after, found.checked(before).map_state)

    def test_no_report(self) -> None:
        self.assertEqual(audit.Report(), audit.read())
        self.assertEqual(audit.Report(), self.read())
        for text in ('', '[]', '{"version": 2}', '{"version": 1}', 'null'):
            self.assertEqual(audit.Report(), self.read(text))
        self.assertIn('Could not read the report', self.log.output)
