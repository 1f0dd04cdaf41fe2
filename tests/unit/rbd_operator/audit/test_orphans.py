# SPDX-License-Identifier: Apache-2.0

"""What is an orphan; ``test_rules`` has a finding of each kind."""

from rbd_operator.audit import orphans
from tests.unit import base
from tests.unit.rbd_operator.audit import facts


class OrphansTest(base.TestCase):
    def test_service_that_was_not_asked_has_no_orphan(self) -> None:
        disk = facts.image(f'{facts.IDENT}_disk')
        known = facts.known(images=None, servers=None)
        for image in (facts.image(facts.IDENT), disk):
            self.assertEqual([], list(orphans.of_image(image, known)))
            self.assertEqual(1, len([*orphans.of_image(image, facts.known())]))

    def test_backup_that_cinder_has_keeps_its_image(self) -> None:
        snapshot = facts.snapshot(f'backup.{facts.OTHER}.snap.1.5')
        image = facts.image(
            f'volume-{facts.IDENT}.backup.base', snapshots=(snapshot,)
        )
        known = facts.known(backups=frozenset({facts.OTHER}))
        self.assertEqual([], list(orphans.of_image(image, known)))
        self.assertEqual(1, len([*orphans.of_image(image, facts.known())]))

    def test_snapshots_that_cinder_did_not_name(self) -> None:
        image = facts.image(
            snapshots=(
                facts.snapshot('mine'),
                facts.snapshot(f'snapshot-{facts.OTHER}', namespace='trash'),
            )
        )
        volume = facts.volume()
        known = facts.known(volume)
        self.assertEqual([], [*orphans.of_snapshots(image, known, volume)])
