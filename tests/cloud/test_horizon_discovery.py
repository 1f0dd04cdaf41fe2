# SPDX-License-Identifier: Apache-2.0

"""What the dashboard knows about volume types, for whom, and at what cost."""

import json

from tests.cloud import base
from tests.cloud import relay
from tests.cloud import volume_form

_CREATE = '/project/volumes/create/'
_GROUP = '/api/rbd_volume_options/new-volume/'
# Bytes: all of our markup in a page, with any number of volume types.
_FORM = 3000


class AnswerTest(volume_form.FormTestCase):
    def test_lists_of_cinder_are_no_sources_and_pages_are_light(self) -> None:
        volume = self.created(metadata=dict(base.ASKED))
        self.open('/project/volumes/')
        for ident, words in (
            (volume, 'same as the source'),
            # Cinder has lists at these addresses.
            ('detail', 'not available'),
            ('summary', 'not available'),
        ):
            status, text = self.fetch(f'{_GROUP}?volume_source={ident}')
            self.assertEqual(200, status, text)
            self.assertIn(words, json.loads(text)['html'])
        for page in (_CREATE, f'/project/volumes/{volume}/retype/'):
            self.check_cost(page)

    def check_cost(self, page: str) -> None:
        """Check the requests for a page, and the size of what is ours in it.

        The page is read with and without the API extension. Without it, the
        form is the stock form.
        """
        sizes = []
        for change in (lambda answer: answer, relay.absent):
            relay.forget_offers()
            before = self.relay.count()
            with self.relay.changed(relay.OFFERS, change):
                status, text = self.fetch(page)
            self.assertEqual(200, status, page)
            self.assertEqual(1, self.relay.count() - before, page)
            sizes.append(len(text.encode()))
        relay.forget_offers()
        ours = sizes[0] - sizes[1]
        self.assertGreater(ours, 0, page)
        self.assertLessEqual(ours, _FORM, page)
