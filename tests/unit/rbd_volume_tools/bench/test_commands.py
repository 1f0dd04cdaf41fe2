# SPDX-License-Identifier: Apache-2.0

import argparse
import contextlib
from importlib import metadata
import io
import json
import pathlib
import sys
import types
from typing import Any
from unittest import mock

import ddt
import fixtures

from rbd_volume_options import errors
from rbd_volume_tools import shell
from rbd_volume_tools.bench import commands
from rbd_volume_tools.bench import facts
from rbd_volume_tools.bench import matrix
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import report
from rbd_volume_tools.bench import results
from rbd_volume_tools.bench import session
from rbd_volume_tools.bench.guest import server_arguments
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base
from tests.unit.rbd_volume_tools.bench import samples


class CommandTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.replace(
            mock.patch.object(
                metadata, 'version', autospec=True, return_value='1'
            )
        )

    def replace(self, patch: Any) -> Any:
        self.addCleanup(patch.stop)
        return patch.start()

    def run_command(self, *words: str) -> tuple[int, str]:
        """Run a command; return its status and what it has shown."""
        shown = io.StringIO()
        with (
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(shown),
        ):
            status = shell.main(['bench', *words])
        return status, shown.getvalue()


@ddt.ddt
class CommandsTest(CommandTestCase):
    """Commands that need no cluster."""

    def rows(self, *words: str) -> Any:
        text = self.run_command(*words, '-f', 'json')[1]
        return json.loads(text[text.index('[') :])

    def test_plans_command_lists_shipped_plans(self) -> None:
        sizes = {row['Plan']: row['Data'] for row in self.rows('plans')}
        # Formats for programs have bytes.
        self.assertEqual(0, sizes['switch-object-map'])
        self.assertEqual(0, sizes['cern-2013'] % 2**20)
        self.assertIn(' MiB | ', self.run_command('plans')[1])

    def test_dry_run_shows_selected_combinations(self) -> None:
        status, text = self.run_command(
            *('run', 'cern-2013', '--pool', 'volumes', '--dry-run'),
            *('--select', 'run=caches', '--select', 'cache_mode=none'),
        )
        self.assertEqual(0, status)
        self.assertEqual(4, len(text.splitlines()))

    @ddt.data(
        (['run', 'none-such'], 'no such plan'),
        (['run', 'cern-2013', '--select', 'x=y'], '--select = '),
        (['run', 'cern-2013', '--runtime', '0'], 'settings.runtime'),
        (['run', 'cern-2013', '--image-size', '8GB'], 'settings.image_size'),
        (['report', '/none/such'], 'results.json'),
    )
    @ddt.unpack
    def test_invalid_options_are_named(
        self, words: list[str], expected: str
    ) -> None:
        more = ['--pool', 'volumes', '--dry-run'] if words[0] == 'run' else []
        status, text = self.run_command(*words, *more)
        self.assertEqual(1, status)
        self.assertIn(expected, text)

    def test_missing_library_names_the_extra(self) -> None:
        def fail(folder: pathlib.Path) -> None:
            raise ImportError('No module named matplotlib')

        with mock.patch.object(results, 'load', fail):
            status, text = self.run_command('report', str(self.folder))
        self.assertEqual(1, status)
        self.assertIn('Install rbd-volume-options[bench]', text)

    def test_compare_command_shows_ratio_of_two_results(self) -> None:
        folders = []
        for place, rate in enumerate((100.0, 200.0)):
            folders.append(str(self.folder / str(place)))
            measured = samples.measured(*samples.thrice(rate))
            results.save(pathlib.Path(folders[-1]), measured)
        (row,) = self.rows('compare', *folders)
        self.assertIs(False, row['Overlap'])
        self.assertAlmostEqual(2, row['Ratio'], delta=0.02)

    def test_report_command_writes_the_report_again(self) -> None:
        results.save(self.folder, samples.measured(samples.sample(1.0)))
        status, text = self.run_command('report', str(self.folder))
        self.assertEqual(0, status, text)
        self.assertTrue((self.folder / report.REPORT).exists())


class MeasurableTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.cells = matrix.cells(samples.from_text(samples.GUEST_PLAN))
        self.said: list[str] = []

    def measurable(self, cells: list[Any], *words: str) -> list[Any]:
        parser = argparse.ArgumentParser()
        server_arguments.add(parser)
        parser.add_argument('--volume-type')
        parsed_args = parser.parse_args(words)
        return commands.measurable(parsed_args, cells, self.said.append)

    def test_runs_in_guests_are_left_out_without_image(self) -> None:
        cells = self.measurable(self.cells)
        self.assertEqual({'deletion'}, {cell.run.path for cell in cells})
        (line,) = self.said
        self.assertIn('Run disks is left out', line)

    def test_all_runs_are_measured_with_image_and_flavor(self) -> None:
        words = ('--server-image', 'fio', '--flavor', 'small')
        self.assertEqual(self.cells, self.measurable(self.cells, *words))

    def test_missing_option_is_named(self) -> None:
        guests = [x for x in self.cells if x.run.path == plan.GUEST]
        for cells, words, option in (
            (guests, (), '--server-image'),
            (self.cells, ('--server-image', 'fio'), '--flavor'),
        ):
            error = self.assertRaises(
                errors.OptionError, self.measurable, cells, *words
            )
            self.assertIn(option, str(error))


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
class BenchRunTest(CommandTestCase):
    """The command that measures, with a fake cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = fake_rados.Cluster('volumes')
        self.clients: list[_Rados] = []
        rados = types.SimpleNamespace(
            Error=fake_rados.Error, Rados=self.connection
        )
        librbd = fake_librbd.Librbd(self.cluster)
        self.replace(mock.patch.dict(sys.modules, rados=rados, rbd=librbd))
        self.measure = self.replace(
            mock.patch.object(session.Session, 'run', autospec=True)
        )

    def connection(self, **kwargs: Any) -> _Rados:
        self.clients.append(_Rados(self.cluster, **kwargs))
        return self.clients[-1]

    def run_plan(self) -> tuple[int, str]:
        path = self.folder / 'mine.yaml'
        path.write_text(samples.PLAN)
        return self.run_command(
            *('run', str(path), '--pool', 'volumes'),
            *('--output', str(self.folder)),
        )

    def add_sample(self, measured: session.Session, *args: Any) -> None:
        self.measured = measured
        measured.results.environment = dict(samples.ENVIRONMENT)
        measured.results.add(samples.sample(1.0))

    def test_clients_have_timeouts_and_cache_settings(self) -> None:
        self.measure.side_effect = self.add_sample
        status, text = self.run_plan()
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
    def test_run_that_ends_early_writes_its_report(
        self, error: BaseException, expected: str
    ) -> None:
        def fail(measured: session.Session, *args: Any) -> None:
            self.add_sample(measured)
            raise error

        self.measure.side_effect = fail
        status, text = self.run_plan()
        self.assertEqual(1, status)
        self.assertIn(expected, text)
        self.assertTrue((self.folder / report.REPORT).exists())

    def test_folder_of_another_run_is_refused(self) -> None:
        with results.locked(self.folder):
            status, text = self.run_plan()
        self.assertEqual(1, status)
        self.assertIn('in use by another run', text)
        self.measure.assert_not_called()

    def test_no_report_without_measurements(self) -> None:
        self.measure.side_effect = KeyboardInterrupt
        self.assertEqual(1, self.run_plan()[0])
        self.assertFalse((self.folder / report.REPORT).exists())

    def test_failed_connection_names_the_monitors(self) -> None:
        conf = self.folder / 'ceph.conf'
        conf.touch()
        self.useFixture(fixtures.EnvironmentVariable('CEPH_CONF', str(conf)))
        self.cluster.config['mon_host'] = '192.0.2.1'
        self.cluster.fail('Rados.connect', fake_rados.OSError(110))
        status, text = self.run_plan()
        self.assertEqual(1, status)
        self.assertIn(f'{conf}: [errno 110]', text)
        self.assertIn('(mon_host) are 192.0.2.1', text)

    def test_first_interrupt_asks_for_a_second(self) -> None:
        stream = mock.create_autospec(io.StringIO, instance=True)
        said: list[str] = []
        cleaning = commands.Cleaning(stream, said.append)
        cleaning.begun()
        cleaning.abandoned()
        self.assertEqual(1, len(said))
        self.assertIn('Ctrl-C again', said[0])
        cleaning.session = mock.create_autospec(
            session.Session, instance=True, not_removed=['Not removed: x']
        )
        cleaning.abandoned()
        self.assertEqual('Not removed: x', said[-1])
        stream.flush.assert_called_with()
