# SPDX-License-Identifier: Apache-2.0

"""The list of third-party packages fits requirements and constraints."""

import json
import re
from typing import Any

import bill_of_materials
from sandbox_cloud import state
from tests import tree
from tests.unit import base

_NEWEST = state.releases()[-1]
_AGAIN = 'nox -s materials writes them again'


class MaterialsTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        text = (tree.ROOT / bill_of_materials.MATERIALS).read_text()
        self.text, self.document = text, json.loads(text)
        self.components: dict[str, dict[str, Any]] = {
            bill_of_materials.normal(each['name']): each
            for each in self.document['components']
        }

    def test_all_requirements_are_listed(self) -> None:
        required, optional = map(
            bill_of_materials.names, bill_of_materials.requirements()
        )
        self.assertIn('oslo-config', required)
        self.assertLess({'cinder', 'nova'}, optional)
        listed = set(self.components)
        self.assertEqual(set(), (required | optional) - listed, _AGAIN)
        for name in required:
            self.assertEqual('required', self.components[name]['scope'])
        self.assertEqual('optional', self.components['nova']['scope'])

    def test_versions_are_those_of_the_newest_release(self) -> None:
        path = tree.ROOT / 'constraints' / f'{_NEWEST}.txt'
        pins = {
            bill_of_materials.normal(name): version
            for name, version in re.findall(
                r'^([\w.-]+)==([^\s;]+)', path.read_text(), re.MULTILINE
            )
        }
        versions = {
            name: each['version'] for name, each in self.components.items()
        }
        expected = {name: pins.get(name) for name in versions}
        self.assertEqual(expected, versions, _AGAIN)

    def test_licenses_are_those_of_the_list(self) -> None:
        licenses = (tree.ROOT / bill_of_materials.LICENSES).read_text()
        derived = bill_of_materials.licenses_of(self.document)
        self.assertEqual(derived, licenses, _AGAIN)

    def test_list_is_reproducible(self) -> None:
        self.assertEqual(bill_of_materials.text_of(self.document), self.text)
        self.assertNotIn('serialNumber', self.document)
        self.assertNotIn('timestamp', self.document['metadata'])
        self.assertEqual('CycloneDX', self.document['bomFormat'])
