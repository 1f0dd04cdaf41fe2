# SPDX-License-Identifier: Apache-2.0

import argparse
from typing import Any

from rbd_volume_options import errors
from rbd_volume_tools.bench.guest import cloud
from rbd_volume_tools.bench.guest import server_arguments
from tests.unit import base


def _wanted(*words: str) -> Any:
    parser = argparse.ArgumentParser()
    server_arguments.add(parser)
    parser.add_argument('--volume-type')
    return server_arguments.wanted(parser.parse_args(words))


class ServerArgumentsTest(base.TestCase):
    def test_image_and_flavor_are_required(self) -> None:
        for words, option in (
            (('--flavor', 'small'), '--server-image'),
            (('--server-image', 'fio'), '--flavor'),
        ):
            error = self.assertRaises(errors.OptionError, _wanted, *words)
            self.assertIn(option, str(error))

    def test_image_can_contain_the_program(self) -> None:
        words = ('--server-image', 'fio', '--flavor', 'small')
        self.assertEqual(cloud.Wanted('fio', 'small'), _wanted(*words))
        self.assertEqual(
            cloud.Wanted('fio', 'small', user_data=False),
            _wanted(*words, '--no-user-data'),
        )
