# SPDX-License-Identifier: Apache-2.0

import types
from typing import Any

import ddt

from rbd_volume_tools.audit import use
from tests.unit import base

_WATCHER = {'addr': '10.0.0.1:0/7', 'id': 41, 'cookie': 99}


def _image(
    watchers: list[dict[str, Any]],
    locker: tuple[str, str] | None = None,
    tag: str = 'internal',
) -> Any:
    lockers: Any = []
    if locker:
        lockers = {'tag': tag, 'lockers': [(*locker, '10.0.0.1:0/7')]}
    return types.SimpleNamespace(
        watchers_list=lambda: iter(watchers), list_lockers=lambda: lockers
    )


@ddt.ddt
class UseTest(base.TestCase):
    def test_unwatched_image_is_unused(self) -> None:
        self.assertEqual(use.Use(), use.of_image(_image([])))

    @ddt.data(
        ([_WATCHER], ('client.41', 'auto 99'), 'internal', True),
        ([_WATCHER], ('client.41', 'auto 98'), 'internal', False),
        ([_WATCHER], ('client.42', 'auto 99'), 'internal', False),
        ([_WATCHER], ('client.41', '99'), '', False),
        (
            [_WATCHER, {**_WATCHER, 'cookie': 98}],
            ('client.41', 'auto 99'),
            'internal',
            True,
        ),
        ([], ('client.41', 'auto 99'), 'internal', False),
    )
    @ddt.unpack
    def test_owner_of_lock_is_told(
        self,
        watchers: list[dict[str, Any]],
        locker: tuple[str, str],
        tag: str,
        watches: bool,
    ) -> None:
        usage = use.of_image(_image(watchers, locker, tag))
        self.assertEqual('10.0.0.1:0/7', usage.owner)
        self.assertIs(watches, usage.owner_watches)
        clients = {each['id'] for each in watchers}
        self.assertEqual(len(clients), len(usage.watchers))

    def test_own_client_of_a_run_that_was_killed(self) -> None:
        image = _image([_WATCHER], ('client.41', 'auto 99'))
        ours = frozenset({'client.41'})
        self.assertEqual(use.Use(has_earlier=True), use.of_image(image, ours))
