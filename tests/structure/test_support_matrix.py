# SPDX-License-Identifier: Apache-2.0

"""The support matrix is complete and has the form of Cinder's."""

import configparser

import ddt

from sandbox_cloud import state
from tests import tree
from tests.unit import base

_ADMIN = tree.ROOT / 'doc/source/admin'


@ddt.ddt
class SupportMatrixTestCase(base.TestCase):
    def _read(self, name: str) -> configparser.ConfigParser:
        matrix = configparser.ConfigParser(interpolation=None)
        matrix.read(_ADMIN / name)
        return matrix

    def test_matrix_has_all_supported_releases(self) -> None:
        drivers = {
            name.removeprefix('driver.')
            for name in self._read('support-matrix.ini').sections()
            if name.startswith('driver.')
        }
        self.assertEqual(set(state.releases()), drivers)

    @ddt.data('support-matrix.ini', 'support-matrix-ceph.ini')
    def test_each_row_names_each_column(self, name: str) -> None:
        matrix = self._read(name)
        drivers = [x for x in matrix.sections() if x.startswith('driver.')]
        rows = [x for x in matrix.sections() if x.startswith('operation.')]
        self.assertNotEqual([], rows)
        for row in rows:
            self.assertNotEqual('', matrix[row]['title'])
            self.assertIn(matrix[row]['status'], ('mandatory', 'optional'))
            for driver in drivers:
                self.assertIn(
                    matrix[row][driver], ('complete', 'partial', 'missing')
                )

    @ddt.data('support-matrix.ini', 'support-matrix-ceph.ini')
    def test_page_shows_it(self, name: str) -> None:
        page = (_ADMIN / 'works-with.rst').read_text()
        self.assertIn(f'.. support-matrix:: {name}\n', page)
