# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import json
import pathlib
from typing import Any
from unittest import mock

import fixtures
import hypothesis
import requests

from rbd_volume_options import keys
from rbd_volume_tools import shell
from tests.unit import untrusted

_POOLS = [
    {
        'name': 'host@one#one',
        'capabilities': {
            'volume_backend_name': 'one',
            'rbd_volume_options': True,
        },
    }
]


class _Cinder:
    """A fake Cinder with the volume types that the commands use."""

    def __init__(self) -> None:
        self.types: list[Any] = []
        self.status = 200
        #: Names of types that are refused.
        self.refused: set[str] = set()

    def _response(self, body: Any, status: int = 0) -> requests.Response:
        response = requests.Response()
        response.status_code = status or self.status
        response._content = json.dumps(body).encode()
        return response

    def get(self, path: str) -> requests.Response:
        if path.startswith('/types'):
            # osapi_max_limit is 1.
            first = int(path.partition('marker=')[2] or 0)
            body: dict[str, Any] = {'volume_types': self.types[first:][:1]}
            if body['volume_types']:
                body['volume_type_links'] = [{'rel': 'next'}]
            return self._response(body)
        return self._response({'pools': _POOLS})

    def post(self, path: str, json: Any) -> requests.Response:
        if json['volume_type']['name'] in self.refused:
            return self._response({'conflict': {'message': 'there'}}, 409)
        ident = str(len(self.types) + 1)
        self.types.append({'id': ident, **json['volume_type']})
        return self._response(json)


class EnsureTypesTest(untrusted.TestCase):
    """cinder-rbd-ext types ensure."""

    def setUp(self) -> None:
        super().setUp()
        self.cinder = _Cinder()
        # Keep the tables out of the test output.
        out = self.useFixture(fixtures.StringStream('stdout')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', out))
        for target, value in (
            ('rbd_volume_tools.shell.Shell.block_storage', self.cinder),
            ('importlib.metadata.version', '1'),
        ):
            patch = mock.patch(target, autospec=True, return_value=value)
            patch.start()
            self.addCleanup(patch.stop)

    def test_second_run_creates_no_type(self) -> None:
        self.cinder.types = [{'id': '1', 'name': 'a', 'extra_specs': {}}]
        for _ in range(2):
            self.assertEqual(0, shell.main(['types', 'ensure']))
            _, made = self.cinder.types
        self.assertEqual('one', made['name'])
        self.assertEqual('one', made['extra_specs']['volume_backend_name'])

    def test_back_end_whose_name_another_type_has_needs_attention(
        self,
    ) -> None:
        self.cinder.types = [{'id': '1', 'name': 'one', 'extra_specs': {}}]
        self.assertEqual(1, shell.main(['types', 'ensure']))
        self.assertEqual(1, len(self.cinder.types))

    def test_named_type(self) -> None:
        command = ['types', 'ensure', '--name', 'rbd-striped']
        for word in ('rbd:stripe_unit=64K', 'rbd:stripe_count=8'):
            command += ['--property', word]
        for _ in range(2):
            self.assertEqual(0, shell.main(command))
        (made,) = self.cinder.types
        self.assertEqual('rbd-striped', made['name'])
        self.assertEqual(
            {
                'volume_backend_name': 'one',
                'rbd:stripe_unit': '64K',
                'rbd:stripe_count': '8',
            },
            made['extra_specs'],
        )

    def test_types_of_a_file_with_limits_by_size(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'types')
        path.write_text(
            'gold: &gold\n'
            '  rbd:iops_limit_per_gib: 30\n'
            '  rbd:iops_limit_maximum: 5000\n'
            'platinum: {<<: *gold, rbd:iops_limit_per_gib: 60}\n'
            'silver:\n'
            '  volume_backend_name: one\n'
            '  rbd:object_map: true\n'
            '  rbd:detect_zeroes: off\n'
        )
        for _ in range(2):
            status = shell.main(['types', 'ensure', '--file', str(path)])
            self.assertEqual(0, status)
        self.assertEqual(
            {
                'gold': {
                    'volume_backend_name': 'one',
                    'rbd:iops_limit_per_gib': '30',
                    'rbd:iops_limit_maximum': '5000',
                },
                'platinum': {
                    'volume_backend_name': 'one',
                    'rbd:iops_limit_per_gib': '60',
                    'rbd:iops_limit_maximum': '5000',
                },
                'silver': {
                    'volume_backend_name': 'one',
                    'rbd:object_map': 'true',
                    'rbd:detect_zeroes': 'off',
                },
            },
            {each['name']: each['extra_specs'] for each in self.cinder.types},
        )

    def test_existing_type_with_other_keys_ends_with_status_1(self) -> None:
        """The others are created."""
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'types')
        path.write_text('gold: {rbd:iops_limit: 30}\n')
        command = ['types', 'ensure', '--file', str(path)]
        self.assertEqual(0, shell.main(command))
        path.write_text(
            'gold: {rbd:iops_limit: 40}\nsilver: {rbd:iops_limit: 20}\n'
        )
        self.assertEqual(1, shell.main(command))
        self.assertEqual(
            [('gold', '30'), ('silver', '20')],
            [
                (each['name'], each['extra_specs']['rbd:iops_limit'])
                for each in self.cinder.types
            ],
        )

    @untrusted.FEWER
    @hypothesis.given(untrusted.YAML)
    @hypothesis.example('gold: {rbd:object_map: !!bool a}')
    @hypothesis.example('gold: {rbd:iops_limit: !!int a}')
    @hypothesis.example('{' * 1000)
    def test_any_file_is_read_or_refused(self, text: str) -> None:
        path = pathlib.Path.home() / 'types'
        path.write_bytes(text.encode(errors='replace'))
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            status = shell.main(['types', 'ensure', '--file', str(path)])
        self.assertIn(status, (0, 1, 3))
        if status == 3:
            self.assertIn('allowed: ', shown.getvalue())

    def test_file_without_types_is_refused(self) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'types')
        for text in ('- a\n', 'gold: 1\n', 'gold: {other: 1}\n', '{'):
            path.write_text(text)
            status = shell.main(['types', 'ensure', '--file', str(path)])
            self.assertEqual(3, status, text)
        both = ['types', 'ensure', '--file', str(path), '--name', 'a']
        self.assertEqual(3, shell.main(both))
        self.assertEqual([], self.cinder.types)

    def test_type_that_cannot_be_created_does_not_end_the_others(
        self,
    ) -> None:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'types')
        path.write_text(
            'gold:\n  rbd:iops_limit: 5\nsilver:\n  rbd:iops_limit: 3\n'
        )
        self.cinder.refused = {'gold'}
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            status = shell.main(
                ['types', 'ensure', '--file', str(path), '-f', 'json']
            )
        self.assertEqual(2, status)
        self.assertEqual(['silver'], [x['name'] for x in self.cinder.types])
        gold, silver = json.loads(shown.getvalue())
        self.assertIn('failed: ', gold['Action'])
        self.assertEqual('make', silver['Action'])

    def test_named_type_that_is_refused(self) -> None:
        name = ['--name', 'new']
        limit = keys.LIMITS[0]
        bounds = (limit.per_gib, 1), (limit.minimum, 3), (limit.maximum, 2)
        for expected, words in (
            (3, ['--property', 'rbd:object_map=true']),
            (3, [*name, '--property', 'rbd:object_map']),
            (3, [*name, '--property', 'rbd:object_map=maybe']),
            (3, [*name, '--property', 'other=1']),
            (3, [*name, *(f'--property={k}={v}' for k, v in bounds)]),
            (3, [*name, '--backend', 'two']),
        ):
            status = shell.main(['types', 'ensure', *words])
            self.assertEqual(expected, status, str(words))
        self.assertEqual([], self.cinder.types)

    def test_refused_command_ends_with_status_3(self) -> None:
        self.cinder.status = 403
        self.assertEqual(3, shell.main(['types', 'ensure']))
        self.assertEqual([], self.cinder.types)

    def test_result_is_shown_as_table_and_json(self) -> None:
        shown = io.StringIO()
        for form in ('table', 'json'):
            with contextlib.redirect_stdout(shown):
                shell.main(['types', 'missing', '-f', form])
        self.assertEqual([], self.cinder.types)
        table, _, text = shown.getvalue().partition('[')
        self.assertIn("rbd:object_map='true', volume_backend", table)
        (row,) = json.loads(f'[{text}')
        self.assertEqual(
            {'rbd:object_map': 'true', 'volume_backend_name': 'one'},
            row['Extra specs'],
        )
