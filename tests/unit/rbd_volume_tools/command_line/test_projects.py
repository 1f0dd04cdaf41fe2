# SPDX-License-Identifier: Apache-2.0

import argparse
from collections.abc import Iterator
import io
import types
from typing import Any

import fixtures
from openstack import exceptions

from rbd_volume_tools.command_line import projects
from tests.unit import base


class ProjectsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.errors: dict[str, Exception] = {
            'unknown': exceptions.NotFoundException('none'),
            'hidden': exceptions.ForbiddenException('no administrator'),
            'twice': exceptions.DuplicateResource('More than one Project'),
        }
        identity = types.SimpleNamespace(
            find_project=self._find, projects=self._named
        )
        self.cloud = types.SimpleNamespace(identity=identity)

    def _find(self, name: str, ignore_missing: bool) -> Any:
        """Return a project, as Keystone with two names for one ID."""
        if name in self.errors:
            raise self.errors[name]
        is_domain = name in ('default', 'other', 'domains')
        return types.SimpleNamespace(id='id', is_domain=is_domain)

    def _named(self, name: str) -> Iterator[Any]:
        if name != 'other':
            yield types.SimpleNamespace(id='named as a domain')
        if name == 'domains':
            yield types.SimpleNamespace(id='of another domain')

    def selected(self, *names: str) -> projects.Projects:
        parser = argparse.ArgumentParser()
        projects.add(parser, 'Volumes')
        words = [word for each in names for word in ('--project', each)]
        return projects.selected(self.cloud, parser.parse_args(words).project)

    def test_name_is_resolved(self) -> None:
        self.assertEqual({'id'}, self.selected('name', 'id').idents)
        self.assertEqual(frozenset(), self.selected().idents)

    def test_id_of_a_domain_is_taken_for_a_name(self) -> None:
        self.assertEqual(
            {'named as a domain'}, self.selected('default').idents
        )
        self.assertEqual({'other'}, self.selected('other').unknown)

    def test_project_that_keystone_does_not_show_needs_a_record(self) -> None:
        for name in ('unknown', 'hidden'):
            selected = self.selected(name, 'name')
            self.assertEqual({name, 'id'}, selected.idents)
            selected.check({name})
            error = self.assertRaises(ValueError, selected.check, {'id'})
            self.assertIn(f'--project {name}: ', str(error))

    def test_deleted_project_is_known_by_its_id_only(self) -> None:
        by_id = projects.Projects(unknown=frozenset({32 * 'a'}))
        by_id.check((), may_be_deleted=True)
        self.assertRaises(ValueError, by_id.check, ())
        named = projects.Projects(unknown=frozenset({'unknown'}))
        self.assertRaises(ValueError, named.check, (), may_be_deleted=True)

    def test_variable_that_is_not_set_selects_nothing(self) -> None:
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', io.StringIO()))
        self.assertRaises(SystemExit, self.selected, '')

    def test_name_of_several_projects_is_refused(self) -> None:
        for name in ('twice', 'domains'):
            self.assertRaises(
                exceptions.DuplicateResource, self.selected, name
            )
