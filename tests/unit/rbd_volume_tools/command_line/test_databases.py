# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_tools.command_line.databases.

The functional test of clean has rows of each kind.
"""

import datetime
import pathlib
import sys
from unittest import mock

import fixtures
import sqlalchemy

from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import outcomes
from tests.unit import base

_STATEMENTS = """
CREATE TABLE volumes (id, deleted, deleted_at, _name_id, provider_id,
                      project_id, host, cluster_name);
INSERT INTO volumes VALUES ('gone', 1, '2026-01-02 03:04:05', NULL,
                            'gone [1,4096,4096,1,1,"","c@rbd",""]', 'p',
                            'h@rbd#pool', 'c@rbd');
INSERT INTO volumes VALUES ('moved', 0, NULL, 'image',
                            'moved [1,4096,4096,1,1,"","h@rbd",""]', 'p',
                            'h@rbd#pool', NULL);
"""

_DRIVER_ERRORS = (
    *('Error', 'InterfaceError'),
    *('OperationalError', 'ProgrammingError'),
)


class DatabasesTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def config(self, text: str) -> str:
        path = self.folder / 'cinder.conf'
        path.write_text(text)
        return str(path)

    def databases(self) -> databases.Databases:
        url = f'sqlite:///{self.folder}/cinder.sqlite'
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            for statement in _STATEMENTS.split(';'):
                connection.exec_driver_sql(statement)
        return databases.Databases(
            self.config(f'[database]\nconnection = {url}\n')
        )

    def test_connection_that_was_closed_meanwhile_is_replaced(self) -> None:
        """A server or a firewall closes it during a long audit."""
        stored = self.databases()
        with stored._cinder.connect() as connection:
            closed = connection.connection.dbapi_connection
        closed.close()
        self.assertEqual(1, len(stored.volumes('gone')))

    def test_deleted_volume_has_its_time_and_back_ends(self) -> None:
        (row,) = self.databases().volumes('gone')
        self.assertTrue(row.is_deleted)
        self.assertEqual(
            datetime.datetime(
                *(2026, 1, 2, 3, 4, 5), tzinfo=datetime.timezone.utc
            ),
            row.deleted_at,
        )
        self.assertEqual(('h@rbd#pool', 'c@rbd#pool'), row.backends)
        self.assertTrue(row.has_record)

    def test_record_of_another_image_does_not_count(self) -> None:
        (row,) = self.databases().volumes('image')
        self.assertFalse(row.is_deleted)
        self.assertFalse(row.has_record)

    def test_glance_image_that_can_be_restored_is_not_deleted(self) -> None:
        url = f'sqlite:///{self.folder}/glance.sqlite'
        with sqlalchemy.create_engine(url).begin() as connection:
            for statement in (
                'CREATE TABLE images (id, deleted, deleted_at, owner, status)',
                'CREATE TABLE image_locations (image_id, value)',
                "INSERT INTO images VALUES ('a', 1, NULL, 'p', 'deleted')",
                'INSERT INTO images VALUES '
                "('b', 1, NULL, 'p', 'pending_delete')",
            ):
                connection.execute(sqlalchemy.text(statement))
        stored = databases.Databases(
            glance_config=self.config(f'[database]\nconnection = {url}\n')
        )
        for ident, is_deleted in (('a', True), ('b', False)):
            row = stored.image(ident)
            self.assertIs(is_deleted, row and row.is_deleted)

    def test_databases_that_are_not_configured_have_nothing(self) -> None:
        stored = databases.Databases()
        self.assertEqual([], stored.volumes('gone'))
        self.assertIsNone(stored.backup('gone'))
        self.assertIsNone(stored.image('gone'))

    def test_database_that_fails_is_an_answer_for_one_image(self) -> None:
        stored = databases.Databases(
            self.config('[database]\nconnection = sqlite://\n')
        )
        # It has no tables.
        for method in (stored.volumes, stored.backup):
            self.assertRaises(outcomes.NotAnswered, method, 'gone')

    def test_database_that_does_not_respond_ends_a_command_at_once(
        self,
    ) -> None:
        driver = mock.MagicMock(
            paramstyle='format',
            **dict.fromkeys(_DRIVER_ERRORS, RuntimeError),
        )
        driver.connect.side_effect = RuntimeError('timed out')
        for query, limit in (('', 30), ('?connect_timeout=5', 5)):
            path = self.config(
                '[database]\n'
                f'connection = mysql+pymysql://a:secret@base/b{query}\n'
            )
            with mock.patch.dict(sys.modules, {'pymysql': driver}):
                error = self.assertRaises(
                    ValueError, databases.Databases, path
                )
            self.assertIn(f'{path}: could not connect', str(error))
            self.assertIn('at base: timed out', str(error))
            self.assertNotIn('secret', str(error))
            arguments = driver.connect.call_args.kwargs
            self.assertEqual(limit, arguments['connect_timeout'])

    def test_names_of_another_template_are_refused(self) -> None:
        path = self.config(
            '[DEFAULT]\nvolume_name_template = %s\n'
            '[database]\nconnection = sqlite://\n'
        )
        error = self.assertRaises(ValueError, databases.Databases, path)
        self.assertIn('volume_name_template = %s', str(error))

    def test_error_of_a_file_does_not_show_its_password(self) -> None:
        for text in (
            '[database]\n  secret\n',
            '[database]\nconnection secret\n',
            '[database]\nconnection = secret\n',
            '[database]\nconnection = sqlite://a:b@c:secret/d\n',
        ):
            path = self.config(text)
            error = self.assertRaises(ValueError, databases.Databases, path)
            self.assertIn(path, str(error))
            self.assertNotIn('secret', str(error))

    def test_missing_driver_of_the_database_is_named(self) -> None:
        path = self.config('[database]\nconnection = mssql+pymssql://a/b\n')
        with mock.patch.dict(sys.modules, {'pymssql': None}):
            error = self.assertRaises(ValueError, databases.Databases, path)
        self.assertIn('Install the driver of the database', str(error))

    def test_file_without_a_connection_is_refused(self) -> None:
        path = self.config('[DEFAULT]\n')
        error = self.assertRaises(ValueError, databases.Databases, path)
        self.assertIn(path, str(error))
