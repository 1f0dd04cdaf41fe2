# SPDX-License-Identifier: Apache-2.0

from cinder.volume import volume_types
import hypothesis
from hypothesis import strategies

from cinder_rbd_ext.api import api_call
from cinder_rbd_ext.api import volume_source
from rbd_volume_options import checks
from rbd_volume_options import compute_hosts
from rbd_volume_options import keys
from tests.unit import untrusted
from tests.unit.cinder_rbd_ext.api import base as api_base


class RequestTest(api_base.ApiTestCase):
    """Requests with any JSON to the routes that the extension extends."""

    @untrusted.FEWER
    @hypothesis.given(strategies.data())
    def test_no_body_causes_a_server_error(
        self, data: strategies.DataObject
    ) -> None:
        volume, of_type = self.volume().id, self.types['rbd']
        text, key = '\x1b[2J=cmd', keys.OBJECT_SIZE
        items, action = {key: text, 'a': text}, f'/volumes/{volume}/action'
        connector = {
            'host': text,
            compute_hosts.CONNECTOR_ITEM: {'modes': [text]},
        }
        method, path, body = data.draw(
            strategies.sampled_from(
                (
                    ('POST', '/volumes', self.create(items, name=text)),
                    (
                        'PUT',
                        f'/volumes/{volume}',
                        {'volume': {'metadata': items}},
                    ),
                    (
                        'POST',
                        f'/volumes/{volume}/metadata',
                        {'metadata': items},
                    ),
                    (
                        'PUT',
                        f'/volumes/{volume}/metadata',
                        {'metadata': items},
                    ),
                    (
                        'PUT',
                        f'/volumes/{volume}/metadata/{key}',
                        {'meta': {key: text}},
                    ),
                    ('POST', action, {'os-retype': {'new_type': text}}),
                    ('POST', action, {'os-extend': {'new_size': 2}}),
                    ('POST', action, {'os-set_bootable': {'bootable': text}}),
                    (
                        'POST',
                        action,
                        {'os-set_image_metadata': {'metadata': items}},
                    ),
                    (
                        'POST',
                        '/attachments',
                        {
                            'attachment': {
                                'volume_uuid': volume,
                                'connector': connector,
                            }
                        },
                    ),
                    (
                        'POST',
                        '/snapshots',
                        {'snapshot': {'volume_id': volume, 'metadata': items}},
                    ),
                    (
                        'POST',
                        f'/types/{of_type}/extra_specs',
                        {'extra_specs': items},
                    ),
                    (
                        'PUT',
                        f'/types/{of_type}/extra_specs/{key}',
                        {key: text},
                    ),
                    (
                        'POST',
                        '/types',
                        {'volume_type': {'name': text, 'extra_specs': items}},
                    ),
                )
            )
        )
        altered = data.draw(untrusted.altered(body))
        # Stock Cinder fails without a body, before any extension runs.
        response = self.call(method, path, altered or {'a': 1}, app=self.admin)
        # Stock Cinder fails for a connector without a host.
        if 'Unable to create attachment for' not in response.text:
            self.assertLess(response.status_int, 500, response.text)
        self.assertTrue(response.text.isprintable(), response.text)


class PartTest(untrusted.TestCase):
    @hypothesis.given(untrusted.DATA, untrusted.DATA)
    def test_any_data_is_a_part_and_a_size_or_none(
        self, body: object, value: object
    ) -> None:
        self.assertIsInstance(api_call.part_of(body, 'volume'), dict)
        size = volume_source.whole_number(value)
        self.assertTrue(size is None or 0 < size < 2**31)

    def test_part_of_a_body_is_an_object(self) -> None:
        bodies: list[object] = [
            None,
            [],
            {},
            {'volume': None},
            {'volume': 'x'},
        ]
        for body in bodies:
            self.assertEqual({}, api_call.part_of(body, 'volume'))
        self.assertEqual(
            {'size': 1}, api_call.part_of({'volume': {'size': 1}}, 'volume')
        )

    def test_whole_number(self) -> None:
        maximum = (1 << 31) - 1
        for value, wanted in (
            (1, 1),
            ('12', 12),
            (maximum, maximum),
            (maximum + 1, None),
            (int('9' * 4300), None),
            ('9' * 4300, None),
            ('9' * 4301, None),
            (float('inf'), None),
            (0, None),
            (-1, None),
            ('x', None),
            (None, None),
        ):
            number = volume_source.whole_number(value)
            self.assertTrue(number == wanted, f'{value!s:.20}')

    def test_sizes_of_a_type_have_the_names_of_cinder(self) -> None:
        self.assertEqual(volume_types.MIN_SIZE_KEY, checks.MINIMUM_SIZE)
        self.assertEqual(volume_types.MAX_SIZE_KEY, checks.MAXIMUM_SIZE)
