# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_tools.audit import names
from tests.unit import untrusted

_ID = '6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11'


@ddt.ddt
class NamesTest(untrusted.TestCase):
    @hypothesis.given(
        untrusted.TEXTS
        | untrusted.damaged(f'volume-{_ID}.deleted'.encode()).map(
            lambda name: name.decode(errors='replace')
        )
        | strategies.sampled_from(
            [f'{_ID}\n', f'volume-{_ID}.backup.a\nb', f'{_ID.upper()}_disk']
        )
    )
    def test_any_name_has_an_owner_with_its_id_or_none(
        self, name: str
    ) -> None:
        for parsed in (names.of_image(name), names.of_snapshot(name)):
            self.assertIn(parsed.ident, name)
            self.assertEqual(
                parsed.owner is names.Owner.UNKNOWN, not parsed.ident
            )
        self.assertNotIn(_ID, names.pattern(name))

    def test_long_names_are_read_quickly(self) -> None:
        self.assertQuick(names.of_image)
        self.assertQuick(names.of_snapshot)
        self.assertQuick(names.pattern)

    @ddt.data(
        (f'volume-{_ID}', names.Owner.VOLUME),
        (f'volume-{_ID}.deleted', names.Owner.DELETED_SOURCE),
        (_ID, names.Owner.GLANCE_IMAGE),
        (f'{_ID}_disk', names.Owner.SERVER_DISK),
        (f'{_ID}_disk.config', names.Owner.SERVER_DISK),
        (f'{_ID}_disk.eph0', names.Owner.SERVER_DISK),
        (f'{_ID}_disk.config.rescue', names.Owner.SERVER_DISK),
    )
    @ddt.unpack
    def test_name_of_image_tells_owner(
        self, name: str, owner: names.Owner
    ) -> None:
        self.assertEqual(names.Name(owner, _ID), names.of_image(name))

    @ddt.data(
        (f'snapshot-{_ID}', names.Owner.VOLUME_SNAPSHOT),
        (f'volume-{_ID}.clone_snap', names.Owner.CLONE),
        (f'backup.{_ID}.snap.1700000000.25', names.Owner.BACKUP),
    )
    @ddt.unpack
    def test_name_of_snapshot_tells_owner(
        self, name: str, owner: names.Owner
    ) -> None:
        self.assertEqual(names.Name(owner, _ID), names.of_snapshot(name))

    @ddt.data(
        *('', 'volume-1', f'volume-{_ID}.backup', f'{_ID}\n', 'snap'),
        # Copies that an administrator made.
        *(f'{_ID}_disk.bak', f'{_ID}_disk.eph0.old'),
    )
    def test_other_names_have_no_owner(self, name: str) -> None:
        self.assertEqual(names.Name(names.Owner.UNKNOWN), names.of_image(name))
        self.assertEqual(
            names.Name(names.Owner.UNKNOWN), names.of_snapshot(name)
        )
