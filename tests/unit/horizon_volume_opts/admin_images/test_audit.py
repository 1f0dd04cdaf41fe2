# SPDX-License-Identifier: Apache-2.0

"""The audit report that the command writes."""

import datetime
import json
import pathlib
import tempfile

from django.test import utils
import hypothesis
from hypothesis import strategies

from horizon_volume_opts.admin_images import audit
from rbd_volume_options import features
from rbd_volume_tools.audit import findings
from rbd_volume_tools.audit import images as audited
from rbd_volume_tools.audit import report
from rbd_volume_tools.audit import rules
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.audit import facts

_ONE = '11111111-1111-4111-8111-111111111111'
_OTHER = '22222222-2222-4222-8222-222222222222'
_State = audit.MapState


class ReportTestCase(untrusted.TestCase):
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
        written = report.Report(
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
        ).as_json()
        made = json.loads(''.join(written))
        made['images'] = [
            {'name': f'volume-{_ONE}', 'object_map': 'invalid', 'used': 0},
            {'name': f'volume-{_OTHER}', 'object_map': 'none', 'used': None},
            {'name': 'x_disk', 'object_map': 'none'},
        ]
        return json.dumps(made)

    @hypothesis.given(strategies.data())
    def test_any_file_is_read_or_unreadable(
        self, data: strategies.DataObject
    ) -> None:
        altered = untrusted.altered(json.loads(self.written()))
        text = data.draw(untrusted.TEXTS | altered.map(json.dumps))
        self.path.write_bytes(text.encode(errors='replace'))
        report = self.read()
        self.assertIsInstance(report.map_state(_ONE, _State.UNCHECKED), _State)

    def test_number_or_depth_that_python_cannot_have_is_unreadable(
        self,
    ) -> None:
        for text in (
            self.written().replace('"version": 1', '"version": Infinity'),
            '[' * 100_000,
        ):
            self.assertTrue(self.read(text).is_unreadable)

    def test_report_of_an_audit(self) -> None:
        """Each finding of the rules is shown."""
        pool = facts.pool(
            facts.image(
                size=rules.MANY_OBJECTS * 4 * 2**20,
                image_features=features.MAP_ON,
                map_state=audited.MapState.INVALID,
                parent='p/i@s',
            )
        )
        known = facts.known(facts.volume(multiattach=True))
        now = datetime.datetime.now(datetime.timezone.utc)
        reported = list(rules.of_pool(pool, known, now))
        self.assertGreater(len(reported), 2)
        made = report.make(now, 1.0, [pool], reported, known)
        shown = self.read(''.join(made.as_json()))
        self.assertEqual(
            sorted(each.kind.code for each in reported),
            sorted(each['kind'] for each in shown.findings),
        )
        self.assertIs(
            _State.INVALID, shown.map_state(facts.IDENT, _State.UNCHECKED)
        )

    def test_the_record_is_newer(self) -> None:
        parsed = self.read(self.written())
        for ident, before, after in (
            (_ONE, _State.UNCHECKED, _State.INVALID),
            (_OTHER, _State.UNCHECKED, _State.UNCHECKED),
            (_ONE, _State.NONE, _State.NONE),
            (_OTHER, _State.UNKNOWN, _State.NONE),
            ('x', _State.UNKNOWN, _State.UNKNOWN),
        ):
            self.assertIs(after, parsed.map_state(ident, before))

    def test_no_report(self) -> None:
        self.assertEqual(audit.Report(), audit.read())
        # The audit has not run yet.
        self.assertEqual(audit.Report(), self.read())
        self.assertIn('There is no report of an audit', self.log.output)

    def test_a_report_that_cannot_be_read(self) -> None:
        unreadable = audit.Report(is_unreadable=True)
        self.path.mkdir()
        self.assertEqual(unreadable, self.read())
        self.path.rmdir()
        for text in ('', '[]', '{"version": 2}', '{"version": 1}', 'null'):
            self.assertEqual(unreadable, self.read(text))
        self.assertIn('Could not read the report', self.log.output)
