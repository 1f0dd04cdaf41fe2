# SPDX-License-Identifier: Apache-2.0

"""Columns of the list and CSV export."""

import csv
import io
import itertools
import unicodedata

import hypothesis

from horizon_volume_opts.admin_images import columns
from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import query
from rbd_volume_options import layout
from tests.unit import untrusted

_STRIPED = layout.ImageLayout.of(1 << 20, 1 << 16, 8)


class ColumnsTestCase(untrusted.TestCase):
    def test_each_can_be_sorted(self) -> None:
        self.assertEqual(
            {each.name for each in columns.COLUMNS}, set(query.SORTS)
        )

    def test_csv_has_a_line_per_image(self) -> None:
        image = images.Image(
            'h@b#p',
            'gold, "fast"',
            images.MapState.INVALID,
            _STRIPED,
            ident='an-id',
            name='=HYPERLINK("x")',
            project='p',
            size=3,
            used=3 * 2**28,
            image_features=('layering', 'striping'),
        )
        bare = images.Image('h@b#p', '', images.MapState.UNKNOWN, ident='b')
        lines = columns.csv_lines([image, bare], {'p': 'demo'})
        head, row, other = csv.reader(lines)
        cells = dict(zip(head, row, strict=True))
        self.assertEqual('an-id', cells['Volume ID'])
        self.assertEqual('demo', cells['Project'])
        self.assertEqual('0.75', cells['Used (GiB)'])
        self.assertEqual('64 KiB × 8', cells['Striping'])
        self.assertEqual('gold, "fast"', cells['Volume Type'])
        self.assertEqual('invalid object map', cells['Object Map'])
        # Quoted, so that a spreadsheet does not run it as a formula.
        self.assertEqual('\'=HYPERLINK("x")', cells['Volume'])
        cells = dict(zip(head, other, strict=True))
        self.assertEqual('', cells['Striping'])
        self.assertEqual('', cells['Used (GiB)'])

    @hypothesis.given(untrusted.TEXTS)
    @hypothesis.example('\uff1dcmd')
    @hypothesis.example('"=cmd')
    @hypothesis.example(';\t=cmd')
    def test_no_name_is_a_formula_in_a_spreadsheet(self, name: str) -> None:
        image = images.Image(
            'h@b#p', name, images.MapState.UNKNOWN, ident='b', name=name
        )
        text = ''.join(columns.csv_lines([image], {}))
        for delimiter in ',;\t':
            file = io.StringIO(text, newline='')
            for cell in itertools.chain(
                *csv.reader(file, delimiter=delimiter)
            ):
                # Some skip tabs and line breaks before a formula.
                first = cell.lstrip('\t\r\n')[:1]
                normal = unicodedata.normalize('NFKC', first)
                self.assertNotIn(normal, set('=+-@'), cell)

    def test_csv_escapes_formulas(self) -> None:
        """Some skip a line break, or separate cells at semicolons or tabs."""
        for name, safe in (
            *((f'{start}1', f"'{start}1") for start in '=+-@\t\r\n'),
            ('\n=1', "'\n'=1"),
            ('a;=1', "a;'=1"),
            ('a\t@1', "a\t'@1"),
            ('a;"=1', 'a;\'"=1'),
            ('a;b=1', 'a;b=1'),
        ):
            image = images.Image('h@b#p', '', images.MapState.NONE, name=name)
            _head, row = csv.reader(columns.csv_lines([image], {}))
            self.assertEqual(safe, row[2])

    def test_findings_are_exported_in_words(self) -> None:
        findings = [
            {
                'kind': 'orphan-disk',
                'pool': 'p',
                'image': 'x_disk',
                'detail': '=1',
            }
        ]
        head, row = csv.reader(columns.findings_csv(findings))
        self.assertEqual(
            {
                'Kind': 'disk without an instance',
                'Pool of Ceph': 'p',
                'RBD Image': 'x_disk',
                'Details': "'=1",
            },
            dict(zip(head, row, strict=True)),
        )
