# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_options.ownership.

The functional tests write marks to images on a cluster.
"""

import hypothesis
from hypothesis import strategies

from rbd_volume_options import ownership
from tests.unit import base
from tests.unit import untrusted


class OwnershipTest(base.TestCase):
    def test_mark_is_valid_for_its_own_image_only(self) -> None:
        metadata = {ownership.KEY: ownership.mark('cloud', 3, 'abc')}
        self.assertEqual('cloud', ownership.owner_of(metadata, 3, 'abc'))
        self.assertEqual('', ownership.owner_of(metadata, 3, 'abd'))
        self.assertEqual('', ownership.owner_of(metadata, 4, 'abc'))
        self.assertEqual('', ownership.owner_of({}, 3, 'abc'))

    def test_release_holds_for_copies_as_well(self) -> None:
        # Operators write the word alone.
        for text in (
            ownership.mark(ownership.RELEASED, 3, 'abc'),
            ownership.RELEASED,
        ):
            self.assertEqual(
                ownership.RELEASED,
                ownership.owner_of({ownership.KEY: text}, 4, 'bcd'),
            )

    def test_strings_are_stored_as_by_ceph(self) -> None:
        self.assertEqual(b'\x02\x00\x00\x00ab', ownership.encoded('ab'))
        self.assertEqual('ab', ownership.decoded(b'\x02\x00\x00\x00ab...'))

    @hypothesis.given(strategies.text(max_size=50), untrusted.BYTES)
    def test_any_string_is_decoded_as_it_was_encoded(
        self, text: str, following: bytes
    ) -> None:
        hypothesis.assume(text.isprintable())
        stored = ownership.encoded(text) + following
        self.assertEqual(text, ownership.decoded(stored))

    @hypothesis.given(untrusted.BYTES)
    @hypothesis.example(b'')
    @hypothesis.example(b'\x02\0\0\0\xff\xff')
    @hypothesis.example(b'\x02\0\0\0a')
    def test_content_that_is_no_string_is_refused(
        self, content: bytes
    ) -> None:
        try:
            text = ownership.decoded(content)
        except ValueError:
            return
        self.assertEqual(
            ownership.encoded(text), content[: 4 + len(text.encode())]
        )

    @hypothesis.given(untrusted.TEXTS)
    def test_any_text_is_a_mark_or_none(self, text: str) -> None:
        owner = ownership.owner_of({ownership.KEY: text}, 3, 'abc')
        self.assertIn(owner, ('', text.partition(' ')[0]))

    def test_id_of_a_cloud_is_a_uuid(self) -> None:
        text = '6f1d5b0e-26b5-4cf8-9d2c-0c8a6b0a7b11'
        self.assertEqual(text, ownership.check_cloud_id(text))
        for invalid in (text.upper(), text.replace('-', ''), 'my cloud'):
            error = self.assertRaises(
                ValueError, ownership.check_cloud_id, invalid
            )
            self.assertIn('cinder-rbd-ext cloud-id', str(error))
