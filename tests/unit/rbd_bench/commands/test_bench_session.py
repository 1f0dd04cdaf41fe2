# SPDX-License-Identifier: Apache-2.0

import contextlib
from importlib import metadata
import io
import pathlib
import sys
import types
from typing import Any
from unittest import mock

import ddt
import fixtures

from rbd_bench import facts
from rbd_bench import results
from rbd_bench import session
from rbd_bench.commands import bench_session
from rbd_volume_tools import shell
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.rbd_bench import installed_commands
from tests.unit.rbd_bench import samples


class _Rados(fake_rados.Rados):
    """A connection that is opened as a context."""

    def __init__(self, cluster: fake_rados.Cluster, **kwargs: Any) -> None:
        super().__init__(cluster)
        self.settings = dict(kwargs.get('conf', {}))

    def conf_get(self, option: str) -> str | None:
        """Return the value of an option of this client."""
        return self.settings.get(option, super().conf_get(option))

    def __enter__(self) -> '_Rados':
        self.connect()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.shutdown()


@ddt.ddt
class BenchSessionTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(installed_commands.InstalledCommands())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.cluster = fake_rados.Cluster('volumes')
        self.clients: list[_Rados] = []
        rados = types.SimpleNamespace(
            Error=fake_rados.Error, Rados=self.connection
        )
        librbd = fake_librbd.Librbd(self.cluster)
        self.replace(mock.patch.dict(sys.modules, rados=rados, rbd=librbd))
        version = mock.patch.object(
            metadata, 'version', autospec=True, return_value='1'
        )
        self.replace(version)
        self.measure = self.replace(
            mock.patch.object(session.Session, 'run', autospec=True)
        )

    def replace(self, patch: Any) -> Any:
        self.addCleanup(patch.stop)
        return patch.start()

    def connection(self, **kwargs: Any) -> _Rados:
        self.clients.append(_Rados(self.cluster, **kwargs))
        return self.clients[-1]

    def run_command(self) -> tuple[int, str]:
        path = self.folder / 'mine.yaml'
        path.write_text(samples.PLAN)
        shown = io.StringIO()
        with (
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(shown),
        ):
            status = shell.main(
                [
                    *('bench', 'run', str(path), '--pool', 'volumes'),
                    *('--output', str(self.folder)),
                ]
            )
        return status, shown.getvalue()

    def add_sample(self, measured: session.Session, *args: Any) -> None:
        self.measured = measured
        measured.results.environment = dict(samples.ENVIRONMENT)
        measured.results.add(samples.sample(1.0))

    def test_clients_have_timeouts_and_cache_settings(self) -> None:
        self.measure.side_effect = self.add_sample
        status, text = self.run_command()
        self.assertEqual(0, status, text)
        client, plain = self.clients
        self.assertEqual('60', client.settings['rados_osd_op_timeout'])
        self.assertEqual('60', client.settings['rados_mon_op_timeout'])
        self.assertEqual(
            'false', client.settings['rbd_move_to_trash_on_remove']
        )
        # The report shows the options of the measured programs.
        self.assertEqual({}, plain.settings)
        target = self.measured._target
        self.assertIsNone(target.options['rados_osd_op_timeout'])

    @ddt.data(
        (KeyboardInterrupt(), 'Interrupted'),
        (fake_rados.OSError(110), 'errno 110'),
        (facts.Unavailable('ceph df: no answer'), 'no answer'),
    )
    @ddt.unpack
    def test_report_of_a_run_that_ends_early(
        self, error: BaseException, expected: str
    ) -> None:
        def fail(measured: session.Session, *args: Any) -> None:
            self.add_sample(measured)
            raise error

        self.measure.side_effect = fail
        status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn(expected, text)
        self.assertTrue((self.folder / 'report.html').exists())

    def test_folder_of_another_run_is_refused(self) -> None:
        with results.locked(self.folder):
            status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn('in use by another run', text)
        self.measure.assert_not_called()

    def test_nothing_measured(self) -> None:
        self.measure.side_effect = KeyboardInterrupt
        self.assertEqual(1, self.run_command()[0])
        self.assertFalse((self.folder / 'report.html').exists())

    def test_no_connection(self) -> None:
        conf = self.folder / 'ceph.conf'
        conf.touch()
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', str(conf)))
        self.cluster.config['mon_host'] = '192.0.2.1'
        self.cluster.fail('Rados.connect', fake_rados.OSError(110))
        status, text = self.run_command()
        self.assertEqual(1, status)
        self.assertIn(f'{conf}: [errno 110]', text)
        self.assertIn('(mon_host) are 192.0.2.1', text)

    def test_first_interrupt_asks_for_a_second(self) -> None:
        stream = mock.create_autospec(io.StringIO, instance=True)
        stream.isatty.return_value = True
        said: list[str] = []
        cleaning = bench_session.Cleaning(stream, said.append)
        cleaning.begun()
        cleaning.abandoned()
        self.assertEqual(1, len(said))
        self.assertIn('Ctrl-C again', said[0])
        cleaning.measured = mock.create_autospec(
            session.Session, instance=True, not_removed=['Not removed: x']
        )
        cleaning.abandoned()
        self.assertEqual('Not removed: x', said[-1])
        stream.write.assert_called_with('\x1b[?25h')
