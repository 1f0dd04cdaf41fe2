# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterator
from typing import Any

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

#: What a client may send instead of any part of a body.
_JUNK: tuple[Any, ...] = (None, [], 'x')


def _altered(body: Any) -> Iterator[Any]:
    """Yield a body with each of its parts replaced by something else."""
    yield from _JUNK
    for key, part in body.items() if isinstance(body, dict) else ():
        for each in _altered(part):
            yield {**body, key: each}


class RequestTest(api_base.ApiTestCase):
    """Requests with any JSON to the routes that the extension extends."""

    def _requests(self) -> tuple[tuple[str, str, Any], ...]:
        volume, of_type = self.volume().id, self.types['rbd']
        text, key = '\x1b[2J=cmd', keys.OBJECT_SIZE
        items, path = {key: text, 'a': text}, f'/volumes/{volume}'
        connector = {
            'host': text,
            compute_hosts.CONNECTOR_ITEM: {'modes': [text]},
        }
        attachment = {'volume_uuid': volume, 'connector': connector}
        actions: dict[str, Any] = {
            'os-retype': {'new_type': text},
            'os-extend': {'new_size': 2},
            'os-set_bootable': {'bootable': text},
            'os-set_image_metadata': {'metadata': items},
            'os-reimage': {'image_id': text},
        }
        specs = f'/types/{of_type}/extra_specs'
        created = {'volume_type': 5, 'snapshot_id': 5, 'backup_id': 5}
        return (
            ('POST', '/volumes', self.create(items, name=text)),
            ('POST', '/volumes', self.create({key: '1M'}, **created)),
            ('PUT', path, {'volume': {'metadata': items}}),
            ('POST', f'{path}/metadata', {'metadata': items}),
            ('PUT', f'{path}/metadata', {'metadata': items}),
            ('PUT', f'{path}/metadata/{key}', {'meta': {key: text}}),
            *(
                ('POST', f'{path}/action', {name: part})
                for name, part in actions.items()
            ),
            ('POST', '/attachments', {'attachment': attachment}),
            (
                *('POST', '/snapshots'),
                {'snapshot': {'volume_id': volume, 'metadata': items}},
            ),
            ('POST', '/backups', {'backup': {'volume_id': volume}}),
            (
                *('POST', '/groups/action'),
                {'create-from-src': {'source_group_id': volume}},
            ),
            ('POST', specs, {'extra_specs': items}),
            ('PUT', f'{specs}/{key}', {key: text}),
            (
                *('POST', '/types'),
                {'volume_type': {'name': text, 'extra_specs': items}},
            ),
        )

    def _check(self, method: str, path: str, body: Any) -> None:
        # Stock Cinder fails without a body, before any extension runs.
        response = self.call(method, path, body or {'a': 1}, app=self.admin)
        # Stock Cinder fails for a connector without a host.
        if 'Unable to create attachment for' not in response.text:
            shown = f'{method} {path} {body!s:.200}: {response.text}'
            self.assertLess(response.status_int, 500, shown)
        self.assertTrue(response.text.isprintable(), response.text)

    def test_no_part_of_a_body_causes_a_server_error(self) -> None:
        for method, path, body in self._requests():
            for altered in _altered(body):
                self._check(method, path, altered)

    @untrusted.FEWER
    @hypothesis.given(strategies.data())
    def test_no_body_causes_a_server_error(
        self, data: strategies.DataObject
    ) -> None:
        method, path, body = data.draw(
            strategies.sampled_from(self._requests())
        )
        self._check(method, path, data.draw(untrusted.altered(body)))


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
