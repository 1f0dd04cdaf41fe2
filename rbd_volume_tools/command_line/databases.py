# SPDX-License-Identifier: Apache-2.0

"""Deleted records of volumes, backups and images, in the services' databases.

The APIs do not show what was deleted. The tables are only read.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import datetime
import pathlib
from typing import Any

from oslo_config import cfg

from rbd_volume_options import image_record
from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import outcomes


@dataclasses.dataclass(frozen=True)
class Row:
    """A record, deleted or not.

    :ivar is_deleted: whether the service knows the resource as deleted
    :ivar deleted_at: the time of the deletion
    :ivar backends: where a volume was: ``host@backend#pool``, and the same
        with the name of the cluster
    :ivar has_record: whether our driver made the volume's image, on the back
        end where it was last. It marks images that it unmanages.
    :ivar volume: id of the volume of a backup
    :ivar container: Ceph pool of a backup
    :ivar locations: URLs of the data of a Glance image
    """

    is_deleted: bool
    deleted_at: datetime.datetime | None = None
    project: str = ''
    backends: tuple[str, ...] = ()
    has_record: bool = False
    volume: str = ''
    container: str = ''
    locations: tuple[str, ...] = ()


def _sqlalchemy() -> Any:
    """Return the library, which the environment of a service has.

    The environment of an OpenStack client does not have it, and most commands
    read no database.

    :raises ValueError: if it is missing
    """
    with needed('SQLAlchemy and the driver of the database'):
        import sqlalchemy

        return sqlalchemy


@contextlib.contextmanager
def needed(what: str) -> Iterator[None]:
    """Have the error of a library that is missing say what to do."""
    try:
        yield
    except ImportError as error:
        raise ValueError(
            f'{error}. Install {what}, or run the command in the environment '
            'of the service.'
        ) from error


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    """Have an error of a database concern one image, not the whole run."""
    try:
        yield
    except _sqlalchemy().exc.SQLAlchemyError as error:
        raise outcomes.NotAnswered(f'The database: {error}') from error


class Databases:
    """The databases of Cinder and Glance, as far as they are configured.

    :param cinder_config: path of cinder.conf; empty for none
    :param glance_config: path of glance-api.conf; empty for none
    :raises ValueError: if a file cannot be used; the text has no secret
    """

    def __init__(
        self, cinder_config: str = '', glance_config: str = ''
    ) -> None:
        self._cinder = _engine(cinder_config)
        self._glance = _engine(glance_config)

    @_answered()
    def volumes(self, ident: str) -> list[Row]:
        """Return the records of a volume, or of those with its image.

        A volume that was migrated has the image of another ID.
        """
        rows = _rows(
            self._cinder,
            'id, deleted, deleted_at, _name_id, provider_id, project_id, '
            'host, cluster_name FROM volumes WHERE id = :id OR _name_id = :id',
            ident,
        )
        return [self._volume(row) for row in rows]

    def _volume(self, row: Any) -> Row:
        host = row.host or ''
        pool = host.partition('#')[2]
        backends = [host]
        if row.cluster_name:
            backends.append(f'{row.cluster_name.partition("#")[0]}#{pool}')
        recorded = image_record.parse(row.provider_id, row._name_id or row.id)
        return Row(
            bool(row.deleted),
            _utc(row.deleted_at),
            row.project_id or '',
            tuple(backends),
            bool(
                recorded
                and recorded.backend
                and image_record.is_same_section(
                    recorded.backend, host.partition('#')[0]
                )
            ),
        )

    @_answered()
    def backup(self, ident: str) -> Row | None:
        """Return the record of a backup."""
        for row in _rows(
            self._cinder,
            'deleted, deleted_at, project_id, volume_id, container '
            'FROM backups WHERE id = :id',
            ident,
        ):
            return Row(
                bool(row.deleted),
                _utc(row.deleted_at),
                row.project_id or '',
                volume=row.volume_id or '',
                container=row.container or '',
            )
        return None

    @_answered()
    def image(self, ident: str) -> Row | None:
        """Return the record of a Glance image."""
        for row in _rows(
            self._glance,
            'deleted, deleted_at, owner, status FROM images WHERE id = :id',
            ident,
        ):
            locations = _rows(
                self._glance,
                'value FROM image_locations WHERE image_id = :id',
                ident,
            )
            return Row(
                # With delayed_delete, glance-scrubber can restore it.
                bool(row.deleted) and row.status != 'pending_delete',
                _utc(row.deleted_at),
                row.owner or '',
                locations=tuple(each.value for each in locations),
            )
        return None


#: Seconds for a connection to a database, unless its URL has another limit.
_CONNECT_SECONDS = 30
# SQLite has no network.
_REMOTE = frozenset({'mysql', 'postgresql'})
# Cinder's default.
_TEMPLATE = 'volume-%s'


def _engine(config_file: str) -> Any:
    if not config_file:
        return None
    # The errors of oslo.config show the line, which may have a password.
    configuration.Configuration([pathlib.Path(config_file)])
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('connection', secret=True), group='database')
    conf.register_opt(cfg.StrOpt('volume_name_template', default=_TEMPLATE))
    conf([], default_config_files=[config_file], default_config_dirs=[])
    if not conf.database.connection:
        raise ValueError(
            f'{config_file} has no [database] connection. Give the file that '
            'the service uses.'
        )
    if conf.volume_name_template != _TEMPLATE:
        raise ValueError(
            f'{config_file} has volume_name_template = '
            f'{conf.volume_name_template}. Leftovers are recognized by their '
            f'names, with {_TEMPLATE} only. Remove them by hand.'
        )
    return _connected(config_file, conf.database.connection)


def _connected(config_file: str, text: str) -> Any:
    """Return the engine of a database that accepts connections.

    :param text: URL of the database, with the password
    """
    library = _sqlalchemy()
    with needed('the driver of the database, such as PyMySQL'):
        try:
            url = library.make_url(text)
            limit = {}
            has_own = 'connect_timeout' in url.query
            if url.get_backend_name() in _REMOTE and not has_own:
                limit['connect_timeout'] = _CONNECT_SECONDS
            # An audit between two statements can take longer than the server
            # or a firewall keeps an idle connection.
            engine = library.create_engine(
                url, connect_args=limit, pool_pre_ping=True
            )
        except (library.exc.ArgumentError, ValueError):
            raise ValueError(
                f'{config_file}: [database] connection is not a valid URL of '
                'a database (not shown).'
            ) from None
    try:
        # Before an audit, which can take long.
        engine.connect().close()
    except library.exc.DBAPIError as error:
        place = url.host or url.database
        raise ValueError(
            f'{config_file}: could not connect to the database at {place}: '
            f'{error.orig}. Check [database] connection, and that the '
            'database can be reached from this host.'
        ) from None
    return engine


def _rows(engine: Any, selected: str, ident: str) -> list[Any]:
    """Return the rows of a statement; none without a database."""
    if engine is None:
        return []
    statement = _sqlalchemy().text(f'SELECT {selected}')
    with engine.connect() as connection:
        rows: list[Any] = connection.execute(statement, {'id': ident}).all()
    return rows


def _utc(time: datetime.datetime | str | None) -> datetime.datetime | None:
    """Return a time with its zone; SQLite returns a text here."""
    if time is None:
        return None
    if isinstance(time, str):
        time = datetime.datetime.fromisoformat(time)
    return time.replace(tzinfo=datetime.timezone.utc)
