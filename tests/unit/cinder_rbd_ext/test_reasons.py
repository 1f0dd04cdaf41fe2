# SPDX-License-Identifier: Apache-2.0

from cinder_rbd_ext import reasons
from cinder_rbd_ext import record
from rbd_volume_options import image_record
from rbd_volume_options import layout
from rbd_volume_options import options
from tests.unit.cinder_rbd_ext import test_record

_NEW = image_record.Record(
    options.image_values(layout.ImageLayout(1 << 22), frozenset())
)


class ReasonTest(test_record.RecordTestCase):
    def _record(self, operation: str, text: str = 'the reason') -> None:
        reason = reasons.Reason(operation, 'now', 'req-1', text)
        record.write(self.volume.id, *reason.rows())

    def _reason(self) -> str | None:
        reason = reasons.stored(self.recorded())
        return reason.text if reason else None

    def test_later_reason_replaces_the_earlier(self) -> None:
        self._record('creation', 'x' * 600)
        self._record('creation', 'a shorter one')
        self.assertEqual('a shorter one', self._reason())
        self.assertEqual(1, len(self.rows()))

    def test_image_that_is_made_ends_the_reason_of_its_creation(self) -> None:
        self._record('creation', 'x' * 600)
        record.replace(self.volume, _NEW)
        self.assertEqual({}, self.rows())
        self._record('attachment')
        record.replace(self.volume, _NEW)
        self.assertEqual('the reason', self._reason())

    def test_long_text_has_several_rows_and_is_shortened(self) -> None:
        self._record('creation', 'x\n' * 300)
        self.assertEqual('x\n' * 300, self._reason())
        self.assertEqual(255, max(map(len, self.rows().values())))
        self._record('creation', 'x' * 5000)
        self.assertTrue((self._reason() or '').endswith('xxx...'))

    def test_only_the_reason_of_a_named_operation_is_removed(self) -> None:
        self._record('attachment')
        record.forget_reason(self.volume.id, 'retype')
        self.assertEqual('the reason', self._reason())
        record.forget_reason(self.volume.id, 'retype', 'attachment')
        self.assertEqual({}, self.rows())

    def test_failure_of_the_database_is_only_logged(self) -> None:
        self._record('attachment')
        self.patch('cinder_rbd_ext.record.change', side_effect=OSError)
        record.forget_reason(self.volume.id, 'attachment')
        self.assertIn('Could not remove a reason', self.log.output)
