# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterable
from concurrent import futures
import json
import sys
from typing import Any
from unittest import mock

import rados

from cinder_rbd_ext.retype import image_data
from tests.unit import base


class ComparisonTest(base.TestCase):
    """The contents are compared on real Ceph, in the functional tests."""

    def test_few_pieces_wait_whatever_the_size_of_the_image(self) -> None:
        """Each of the millions of an image would take memory."""
        size = 1000 * image_data._PIECE
        images = [mock.Mock(size=lambda: size) for _ in range(2)]
        images[0].read = images[1].read = lambda offset, length: b''
        waiting = []
        submit = futures.ThreadPoolExecutor.map

        def count(executor: Any, differs: Any, pieces: Iterable[int]) -> Any:
            waiting.append(len(list(pieces)))
            return submit(executor, differs, pieces)

        self.patch(futures.ThreadPoolExecutor, 'map', count)
        pieces = list(range(1000))
        self.assertIsNone(image_data._differing_offset(images, pieces, 0, 1))
        self.assertEqual(1000, sum(waiting))
        self.assertEqual(image_data._WAITING, max(waiting))

    def test_limit_of_a_volume_does_not_slow_the_comparison(self) -> None:
        """Ceph 16 has no such option, and compares with the limit."""
        client = mock.MagicMock()
        images = [['volumes', 'image'], ['volumes', 'copy']]
        names = dict.fromkeys(('user', 'cluster', 'conf', 'timeout'), '')
        request = {**names, 'images': images, 'with_parent': False}
        self.patch(sys, 'argv', ['image_data.py', json.dumps(request)])
        self.patch(rados, 'Rados', lambda **settings: client)
        self.patch(image_data, 'differing_piece', lambda *places: None)
        for error in (None, rados.ObjectNotFound('unknown')):
            client.reset_mock()
            client.conf_set.side_effect = error
            image_data.main()
            self.assertEqual(
                [
                    mock.call.conf_set('rbd_qos_exclude_ops', 'read'),
                    mock.call.__enter__(),
                ],
                client.mock_calls[:2],
            )

    def test_difference_is_found_behind_the_first_pieces(self) -> None:
        piece = image_data._PIECE
        images = [mock.Mock(size=lambda: 200 * piece) for _ in range(2)]
        images[0].read = lambda offset, length: b'a'
        images[1].read = lambda offset, length: (
            b'b' if offset == 150 * piece else b'a'
        )
        offset = image_data._differing_offset(images, list(range(200)), 0, 1)
        self.assertEqual(150 * piece, offset)
