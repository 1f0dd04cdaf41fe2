# SPDX-License-Identifier: Apache-2.0

import pathlib

from cinder.volume.drivers import rbd as cinder_rbd
import fixtures
from glance_store._drivers import rbd as glance_rbd
import hypothesis
from hypothesis import strategies

from cinder_rbd_ext import opts
from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import options
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.doctor import hosts

_NAMES = (
    *(each.dest for _, opts in opts.list_opts() for each in opts),
    *('rados_connect_timeout', 'rbd_pool', 'volume_backend_name'),
    *('[ceph]', '[backend_defaults]', '[rbd_cache]', ''),
)


def _file(items: list[tuple[str, str]]) -> str:
    lines = [f'{name} = {value}' for name, value in items]
    return '\n'.join([hosts.CINDER, '[ceph]', *lines, hosts.NOVA, *lines])


class OptionsTest(untrusted.TestCase):
    """The functional tests of the doctor plant faults in whole files."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path

    @untrusted.FEWER
    @hypothesis.given(
        untrusted.damaged(f'{hosts.CINDER}{hosts.GLANCE}{hosts.NOVA}'.encode())
        | strategies.lists(
            strategies.tuples(
                strategies.sampled_from(_NAMES), untrusted.TEXTS
            ),
            max_size=3,
        ).map(lambda items: _file(items).encode(errors='replace'))
    )
    def test_any_file_is_checked_or_refused(self, content: bytes) -> None:
        path = pathlib.Path(self.folder, 'service.conf')
        path.write_bytes(content)
        try:
            conf = configuration.Configuration([path])
        except ValueError as error:
            self.assertIn(f'Cannot read {path}', str(error))
            return
        list(options.check_cinder(conf))
        list(options.check_glance(conf))
        list(options.check_nova(conf))
        list(cinder_parts.check(conf, 20))
        list(cinder_parts.accesses(conf, {}))

    def test_stock_options_are_not_taken_for_ours(self) -> None:
        lines = [f'{each.dest} = 1' for each in cinder_rbd.RBD_OPTS]
        text = '\n'.join([hosts.CINDER, '[ceph]', *lines])
        conf = hosts.conf(self.folder, text)
        self.assertIn('rbd_max_clone_depth', conf.names('ceph'))
        self.assertEqual([], list(options.check_cinder(conf)))
        lines = [f'{each.dest} = 1' for each in glance_rbd._RBD_OPTS]
        text = '\n'.join([hosts.GLANCE, '[fast]', *lines])
        conf = hosts.conf(self.folder, text)
        self.assertEqual([], list(options.check_glance(conf)))

    def test_options_of_other_sections_of_nova_are_not_ours(self) -> None:
        conf = hosts.conf(
            self.folder, '[vnc]\nenabled = true\n[cache]\n[libvirt]\n'
        )
        self.assertEqual([], list(options.check_nova(conf)))

    def test_options_of_nova_in_another_section(self) -> None:
        conf = hosts.conf(self.folder, '[libvirt]\ndisk_queues = 4')
        self.assertEqual(
            [('Nova [libvirt] disk_queues', findings.Severity.WARNING)],
            hosts.problems(options.check_nova(conf)),
        )

    def test_references_are_not_resolved(self) -> None:
        conf = hosts.conf(
            self.folder, '[rbd_cache]\nallowed_modes = $libvirt.modes'
        )
        self.assertEqual([], list(options.check_nova(conf)))

    def test_options_of_packages_that_are_missing_are_not_checked(
        self,
    ) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                'rbd_volume_tools.doctor.options._CINDER', 'none_such'
            )
        )
        conf = hosts.conf(self.folder, '[DEFAULT]\nrbd_tenant_options = x')
        self.assertEqual([], list(options.check_cinder(conf)))
