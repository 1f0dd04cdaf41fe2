# SPDX-License-Identifier: Apache-2.0

from collections.abc import Iterable
import csv
import io
import itertools
import json
from typing import Any

from cliff import columns as cliff_columns
import hypothesis
from hypothesis import strategies
from osc_lib import exceptions

from rbd_volume_options import definitions
from rbd_volume_options import image_record
from rbd_volume_options import registry
from rbd_volume_tools.client import volume_rbd
from rbd_volume_tools.command_line import printable
from tests.unit import base
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.fleet import fake_cloud

_OPTION = {'settable': True, 'default': None, 'default_from': None}
_RBD = {
    'name': 'rbd',
    'supported': True,
    'options': {
        'rbd:object_size': {
            **_OPTION,
            'type': 'size',
            'minimum': 4096,
            'maximum': 1 << 25,
            'default': 1 << 22,
            'default_from': 'backend configuration',
        },
        'rbd:stripe_count': {
            **_OPTION,
            'type': 'count',
            'minimum': 1,
            'maximum': 64,
            'default': 8,
            'default_from': 'volume type',
        },
        'rbd:object_map': {
            **_OPTION,
            'type': 'boolean',
            'allowed': [False, True],
        },
        'rbd:data_pool': {**_OPTION, 'type': 'pool'},
    },
}
_FAKE = {
    'name': 'fake',
    'supported': False,
    'reason': 'none of ours',
    'options': {},
}


def _values(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the machine-readable values of rows."""
    return [
        tuple(
            each.machine_readable()
            if isinstance(each, cliff_columns.FormattableColumn)
            else each
            for each in row
        )
        for row in rows
    ]


class OptionsTest(base.TestCase):
    """The options of volume types."""

    def setUp(self) -> None:
        super().setUp()
        self.client = fake_cloud.Client()
        self.client.storage.answers[definitions.ROUTE] = {
            'volume_types': [_RBD, _FAKE]
        }

    def test_all_types(self) -> None:
        rows = self.client.rows(volume_rbd.RBDOptions)
        self.assertEqual(
            ['rbd', 'rbd', 'rbd', 'rbd'], [row['Type'] for row in rows]
        )
        self.assertEqual(
            {
                'Type': 'rbd',
                'Key': 'rbd:object_size',
                'Allowed': {
                    'type': 'size',
                    'minimum': 4096,
                    'maximum': 1 << 25,
                },
                'Default': 1 << 22,
                'From': 'backend configuration',
                'Changeable': False,
                'Description': 'Size of the RADOS objects',
            },
            rows[0],
        )
        self.assertIn('fake offers no RBD volume options', self.log.output)
        self.assertIn('none of ours', self.log.output)

    def test_options_are_shown_in_words(self) -> None:
        text = self.client.run(volume_rbd.RBDOptions)
        for words in (
            '| Allowed: power of two, 4 KiB to 32 MiB ',
            '| Default: 4 MiB (backend configuration) ',
            '| Allowed: 1 to 64 ',
            '| Allowed: false, true ',
            '| Fixed when the volume is created. ',
        ):
            self.assertIn(words, text)
        self.assertNotIn('None', text)

    def test_caller_sees_what_it_may_set_within_80_columns(self) -> None:
        limit = {**_OPTION, 'type': 'count', 'minimum': 1 << 20}
        rbd = {
            **_RBD,
            'options': {
                'rbd:bps_limit': {**limit, 'maximum': 1 << 40},
                'rbd:write_iops_burst_seconds': {**limit, 'maximum': 60},
                'rbd:data_pool': {**_OPTION, 'type': '', 'settable': False},
                'rbd:discard_granularity': {
                    **_OPTION,
                    'type': 'word',
                    'allowed': ['4KiB', '64KiB'],
                },
            },
        }
        self.client.storage.answers[f'{definitions.ROUTE}/rbd'] = {
            'volume_type': rbd
        }
        text = self.client.run(volume_rbd.RBDOptions, 'rbd')
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertNotIn('rbd:data_pool', text)
        self.assertIn('1 MiB/s to 1024 GiB/s', text)
        self.assertIn('4KiB, 64KiB', text)
        text = self.client.run(volume_rbd.RBDOptions, 'rbd', '--all')
        self.assertIn('You may not set it.', text)
        (row,) = [
            row
            for row in self.client.rows(volume_rbd.RBDOptions, 'rbd', '--all')
            if row['Key'] == 'rbd:data_pool'
        ]
        self.assertFalse(row['Settable'])

    def test_a_type(self) -> None:
        path = f'{definitions.ROUTE}/a%2Fb'
        self.client.storage.answers[path] = {'volume_type': _RBD}
        rows = self.client.rows(volume_rbd.RBDOptions, 'a/b')
        self.assertEqual({'rbd'}, {row['Type'] for row in rows})

    def test_type_that_does_not_exist(self) -> None:
        error = self.assertRaises(
            exceptions.CommandError,
            self.client.run,
            volume_rbd.RBDOptions,
            'x',
        )
        self.assertNotIn('API extension', str(error))

    def test_without_the_extension(self) -> None:
        error = self.assertRaises(
            exceptions.CommandError,
            fake_cloud.Client(extension=False).run,
            volume_rbd.RBDOptions,
        )
        self.assertIn('API extension not loaded', str(error))


class ShowTest(untrusted.TestCase):
    """The values shown for a volume."""

    def _client(self, volume: Any, extension: bool = True) -> Any:
        client = fake_cloud.Client(extension)
        client.storage.names = {'Volume': {'v': 'v-id'}}
        client.storage.answers['/volumes/v-id'] = {
            'volume': {'volume_type': 'rbd', 'metadata': {}, **volume}
        }
        if extension:
            path = f'{definitions.ROUTE}/rbd'
            client.storage.answers[path] = {'volume_type': _RBD}
        return client

    def test_volume_is_shown_in_words(self) -> None:
        client = self._client(
            {
                definitions.ATTRIBUTE_OBJECT_SIZE: 1 << 22,
                definitions.ATTRIBUTE_STRIPE_UNIT: 65536,
                definitions.ATTRIBUTE_FEATURES: ['layering', 'object-map'],
                definitions.ATTRIBUTE_CACHE_MODES: {'1': None},
            }
        )
        text = client.run(volume_rbd.ShowRBDVolume, 'v')
        for words in (
            r'rbd:object_size +\| 4 MiB +\|',
            r'rbd:stripe_unit +\| 64 KiB +\|',
            r'rbd:features +\| layering, object-map +\|',
            r'rbd:cache_mode, attachment 1 +\| default of the compute host',
        ):
            self.assertRegex(text, words)
        self.assertNotIn('None', text)
        rows = client.rows(volume_rbd.ShowRBDVolume, 'v')
        values = {row['Key']: row['Value'] for row in rows}
        self.assertEqual(1 << 22, values['rbd:object_size'])
        self.assertEqual(['layering', 'object-map'], values['rbd:features'])
        self.assertIsNone(values['rbd:cache_mode, attachment 1'])

    def test_without_the_extension(self) -> None:
        """Only the driver is installed: the requested values are shown."""
        metadata = {
            'rbd:stripe_unit': '64K',
            'rbd:features': 'layering,exclusive-lock',
            'rbd:object_size': 'huge',
        }
        client = self._client({'metadata': metadata}, extension=False)
        types = [
            {
                'id': '1',
                'name': 'lvm',
                'extra_specs': {'rbd:stripe_count': '2'},
            },
            {
                'id': '2',
                'name': 'rbd',
                'extra_specs': {
                    'rbd:stripe_unit': '4K',
                    'rbd:stripe_count': '8',
                    'rbd:object_map': 'true',
                },
            },
        ]
        path = '/types?is_public=None'
        for page, each in zip((path, f'{path}&marker=1'), types, strict=True):
            client.storage.answers[page] = {
                'volume_types': [each],
                'volume_type_links': [{'rel': 'next'}],
            }
        client.storage.answers[f'{path}&marker=2'] = {'volume_types': []}
        rows = client.rows(volume_rbd.ShowRBDVolume, 'v')
        missing = (None, 'API extension not loaded')
        self.assertEqual(
            {
                'rbd:object_size': ('huge', 'volume metadata'),
                'rbd:stripe_unit': (65536, 'volume metadata'),
                'rbd:stripe_count': (8, 'volume type'),
                'rbd:object_map': (True, 'volume type'),
                'rbd:features': (
                    ['exclusive-lock', 'layering'],
                    'volume metadata',
                ),
                'rbd:cache_mode': missing,
                'rbd:data_pool': missing,
            },
            {row['Key']: (row['Value'], row['From']) for row in rows},
        )
        self.assertIn('API extension not loaded', self.log.output)

    def test_without_the_extension_and_without_extra_specs(self) -> None:
        """Cinder shows extra specs only to administrators."""
        client = self._client({}, extension=False)
        path = '/types?is_public=None'
        client.storage.answers[path] = {'volume_types': [{'name': 'rbd'}]}
        rows = client.rows(volume_rbd.ShowRBDVolume, 'v')
        self.assertEqual({None}, {row['Value'] for row in rows})

    def test_where_values_came_from(self) -> None:
        volume = {
            'metadata': {'rbd:object_map': 'true', 'rbd:cache_mode': 'none'},
            'os-rbd-volume-options:object_size': 1 << 20,
            'os-rbd-volume-options:stripe_unit': 65536,
            'os-rbd-volume-options:stripe_count': 1,
            'os-rbd-volume-options:features': ['layering', 'object-map'],
            'os-rbd-volume-options:cache_modes': {'1': 'writeback'},
        }
        rows = list(volume_rbd.rows_of_volume(volume, _RBD))
        shown = {key: (value, origin) for key, value, origin in rows}
        self.assertEqual(
            {
                'rbd:object_size': (1 << 20, 'backend configuration'),
                'rbd:stripe_unit': (65536, 'Ceph configuration'),
                'rbd:stripe_count': (1, 'volume type'),
                'rbd:features': (
                    ['layering', 'object-map'],
                    'object map: volume metadata; others: Ceph configuration',
                ),
                # The image has no data pool, so nothing set one.
                'rbd:data_pool': (None, None),
                'rbd:cache_mode': ('none', 'volume metadata'),
                'rbd:cache_mode, attachment 1': (
                    'writeback',
                    'set at attachment; pending until the next attachment: '
                    'none',
                ),
            },
            shown,
        )
        rows = list(
            volume_rbd.rows_of_volume({**volume, 'snapshot_id': '2'}, _RBD)
        )
        self.assertEqual('source volume', rows[0][2])

    def test_volume_of_a_type_that_the_user_may_not_see(self) -> None:
        client = self._client(
            {
                'volume_type': 'private',
                'metadata': {'rbd:object_map': 'true'},
                definitions.ATTRIBUTE_OBJECT_SIZE: 1 << 20,
                definitions.ATTRIBUTE_STRIPE_UNIT: 65536,
                definitions.ATTRIBUTE_FEATURES: ['layering', 'object-map'],
                image_record.ATTRIBUTE_ORIGINS: {'striping': 'volume type'},
            }
        )
        rows = client.rows(volume_rbd.ShowRBDVolume, 'v')
        hidden = 'unknown (you may not see the volume type)'
        self.assertEqual(
            {
                'rbd:object_size': (1 << 20, hidden),
                'rbd:stripe_unit': (65536, 'volume type'),
                'rbd:stripe_count': (None, None),
                'rbd:features': (
                    ['layering', 'object-map'],
                    f'object map: volume metadata; others: {hidden}',
                ),
                'rbd:data_pool': (None, None),
                'rbd:cache_mode': (None, hidden),
            },
            {row['Key']: (row['Value'], row['From']) for row in rows},
        )

    def test_features_name_the_origin_of_each_of_them(self) -> None:
        volume = {
            'metadata': {'rbd:stripe_count': '4'},
            definitions.ATTRIBUTE_OBJECT_SIZE: 1 << 20,
            definitions.ATTRIBUTE_FEATURES: ['layering', 'striping'],
            image_record.ATTRIBUTE_ORIGINS: {'striping': 'volume metadata'},
            'os-vol-mig-status-attr:name_id': 'another',
        }
        rows = {
            key: (value, origin)
            for key, value, origin in volume_rbd.rows_of_volume(volume, _RBD)
        }
        self.assertEqual(
            'striping: volume metadata; others: Ceph configuration',
            rows['rbd:features'][1],
        )
        self.assertEqual(('volume-another', 'Cinder'), rows['image'])

    def test_limit_that_follows_from_the_size_is_that_of_the_type(
        self,
    ) -> None:
        """No key of its name is set, and no source passes one on."""
        volume = {
            'source_volid': '1',
            'metadata': {},
            definitions.ATTRIBUTE_OBJECT_SIZE: 1 << 22,
            f'{definitions.ALIAS}:limits': {'iops_limit': 100},
        }
        rows = volume_rbd.rows_of_volume(volume, _RBD)
        self.assertIn(('rbd:iops_limit', 100, 'volume type'), list(rows))

    def test_volume_of_another_driver_has_no_invented_origins(self) -> None:
        for status, origin in (
            ('available', 'unknown (created by another driver)'),
            ('in-use', 'unknown (created by another driver)'),
            ('creating', 'unknown (no image was recorded)'),
            ('error', 'unknown (no image was recorded)'),
        ):
            volume = {
                'status': status,
                'metadata': {'rbd:stripe_count': '4'},
                definitions.ATTRIBUTE_FEATURES: None,
            }
            of_image = [
                row[1:]
                for row in volume_rbd.rows_of_volume(volume, _RBD)
                if row[0] != 'rbd:cache_mode'
            ]
            self.assertEqual([(None, origin)] * 5, of_image, status)

    def test_striped_volume_says_which_discards_remove_objects(self) -> None:
        volume = {
            'metadata': {},
            'os-rbd-volume-options:object_size': 256 << 10,
            'os-rbd-volume-options:stripe_count': 8,
        }
        rows = {
            row[0]: row[1] for row in volume_rbd.rows_of_volume(volume, _RBD)
        }
        self.assertEqual('remove objects in pieces of 2 MiB', rows['discards'])
        volume['os-rbd-volume-options:stripe_count'] = 1
        rows = {
            row[0]: row[1] for row in volume_rbd.rows_of_volume(volume, _RBD)
        }
        self.assertNotIn('discards', rows)

    def test_recorded_origin_overrides_changed_metadata(self) -> None:
        """A key can be changed past the API extension."""
        volume = {
            'metadata': {'rbd:object_size': '8M'},
            'os-rbd-volume-options:object_size': 1 << 20,
            'os-rbd-volume-options:stripe_unit': 65536,
            'os-rbd-volume-options:origins': {
                'object_size': 'source volume',
                'striping': 'volume type',
            },
        }
        rows = volume_rbd.rows_of_volume(volume, _RBD)
        origins = {key: origin for key, _, origin in rows}
        self.assertEqual('source volume', origins['rbd:object_size'])
        self.assertEqual('volume type', origins['rbd:stripe_unit'])

    def test_a_cache_mode_that_nobody_asked_for(self) -> None:
        """It does not come from the source volume either."""
        rows = volume_rbd.rows_of_volume(
            {'metadata': {}, 'source_volid': '2'}, {'options': {}}
        )
        self.assertIn(('rbd:cache_mode', None, 'compute host'), list(rows))

    def test_attachments_show_current_and_pending_mode(self) -> None:
        """Attachments without and with the requested mode."""
        modes = {'1': None, '2': 'writeback'}
        for mode, first in (
            ('writeback', 'pending until the next attachment: writeback'),
            (None, 'set at attachment'),
        ):
            volume = {
                'metadata': {'rbd:cache_mode': mode} if mode else {},
                'os-rbd-volume-options:cache_modes': modes,
            }
            rows = list(volume_rbd.rows_of_volume(volume, {'options': {}}))
            self.assertEqual('rbd:cache_mode, attachment 1', rows[-2][0])
            self.assertEqual(
                'default of the compute host', rows[-2][1].human_readable()
            )
            self.assertTrue(rows[-2][2].endswith(first), rows[-2][2])
            self.assertEqual(
                (
                    'rbd:cache_mode, attachment 2',
                    'writeback',
                    'set at attachment',
                ),
                rows[-1],
            )

    def test_attachment_shows_the_mode_that_its_host_gives_instead(
        self,
    ) -> None:
        volume = {
            'metadata': {'rbd:cache_mode': 'writeback'},
            'os-rbd-volume-options:cache_modes': dict.fromkeys(
                '123', 'writeback'
            ),
            'os-rbd-volume-options:cache_modes_in_force': {
                '1': 'writeback',
                '2': 'none',
                '3': None,
            },
        }
        rows = list(volume_rbd.rows_of_volume(volume, {'options': {}}))
        self.assertEqual(
            [
                'set at attachment',
                'set at attachment; in force: none (the compute host does not '
                'allow it)',
                'set at attachment; the compute host decides: it has no '
                'plug-in',
            ],
            [row[2] for row in rows[-3:]],
        )

    def test_attachment_that_was_refused(self) -> None:
        key = 'os-rbd-volume-options:attach_refused'
        told = {'reason': 'no plug-in', 'at': '2026-11-21T11:30:00Z'}
        rows = volume_rbd.rows_of_volume(
            {'metadata': {}, key: told}, {'options': {}}
        )
        self.assertIn(('last attachment', *told.values()), list(rows))

    def test_conversion_and_its_refusal_are_shown(self) -> None:
        key = 'os-rbd-volume-options:conversion'
        at = '2026-11-21T11:30:00Z'
        for told, row in (
            (
                {'percent': 42, 'at': at, 'reason': None},
                ('retype', '42 %', at),
            ),
            (
                {'percent': None, 'at': None, 'reason': 'in use'},
                ('last retype', 'in use', 'refused by the driver'),
            ),
        ):
            rows = volume_rbd.rows_of_volume(
                {'metadata': {}, key: told}, {'options': {}}
            )
            self.assertIn(row, list(rows))

    def test_creation_that_was_refused(self) -> None:
        forged = {'rbd_volume_options_error': '\x1b[2Jpay here'}
        told = 'not a power of two'
        for refused in (told, None):
            volume = {
                'metadata': {},
                'volume_image_metadata': forged,
                'os-rbd-volume-options:refused': refused,
            }
            rows = volume_rbd.rows_of_volume(volume, {'options': {}})
            shown = [row for row in rows if row[0] == 'creation']
            wanted = ('creation', told, 'refused by the driver')
            self.assertEqual([wanted] if refused else [], shown)

    @untrusted.FEWER
    @hypothesis.given(
        strategies.dictionaries(
            strategies.sampled_from(registry.volume_keys()) | untrusted.TEXTS,
            untrusted.TEXTS,
        ),
        untrusted.TEXTS,
    )
    def test_any_metadata_and_reason_stay_in_their_cells(
        self, metadata: dict[str, str], text: str
    ) -> None:
        client = self._client(
            {
                'metadata': metadata,
                'status': text,
                image_record.ATTRIBUTE_REFUSED: f'x{text}',
                image_record.ATTRIBUTE_ATTACH_REFUSED: {
                    'reason': text,
                    'at': text,
                },
            }
        )
        command = volume_rbd.ShowRBDVolume
        table = client.run(command, 'v')
        number = len(json.loads(client.run(command, '-f', 'json', 'v')))
        file = io.StringIO(client.run(command, '-f', 'csv', 'v'))
        rows = list(csv.reader(file, strict=True))
        self.assertEqual({3}, {*map(len, rows)})
        self.assertEqual(number, len(rows) - 1)
        for cell in itertools.chain(*rows):
            self.assertFalse(cell.startswith(printable.FORMULA), cell)
        for line in table.splitlines():
            self.assertEqual(line, printable.text(line))

    def test_terminal_escapes(self) -> None:
        """Text from outside is printed without control characters."""
        evil = '\x1b]0;x\x07'
        option = {**_OPTION, 'type': 'pool', 'default': evil}
        told = {**_RBD, 'name': evil, 'options': {evil: option}}
        client = self._client(
            {
                'metadata': {'rbd:cache_mode': evil, evil: evil},
                'os-rbd-volume-options:refused': evil,
                'os-rbd-volume-options:features': [evil],
                'os-rbd-volume-options:cache_modes': {evil: evil},
                'os-rbd-volume-options:attach_refused': {
                    'reason': evil,
                    'at': evil,
                },
            }
        )
        client.storage.answers[f'{definitions.ROUTE}/rbd'] = {
            'volume_type': told
        }
        client.storage.answers[definitions.ROUTE] = {'volume_types': [told]}
        for command, words in (
            (volume_rbd.RBDOptions, ()),
            (volume_rbd.ShowRBDVolume, ('v',)),
        ):
            for form in ('table', 'csv', 'value', 'json'):
                shown = client.run(command, '-f', form, *words)
                self.assertIn(r'\x1b]0;x', shown)
                self.assertNotIn('\x1b', shown)
