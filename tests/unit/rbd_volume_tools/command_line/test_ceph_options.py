# SPDX-License-Identifier: Apache-2.0

import shlex

import ddt
import hypothesis
from hypothesis import strategies

from rbd_volume_tools.command_line import ceph_options
from rbd_volume_tools.command_line import findings
from tests.unit import untrusted
from tests.unit.rbd_volume_tools.doctor import hosts

_S = findings.Severity
_DEFAULTS = {
    'rbd_blocklist_expire_seconds': '0',
    'rbd_blocklist_on_break_lock': 'true',
    'rbd_default_features': 'layering,exclusive-lock',
    'rbd_cache': 'true',
    'rbd_cache_policy': 'writearound',
    'rbd_cache_size': '33554432',
    'rbd_cache_max_dirty': '25165824',
    'rbd_cache_writethrough_until_flush': 'true',
    'rados_osd_op_timeout': '0.000000',
    'osd_heartbeat_grace': '20',
    'ms_client_mode': 'crc secure',
    'rbd_read_from_replica_policy': 'default',
    'rbd_qos_exclude_ops': '0',
    'rbd_qos_iops_limit': '0',
    'rbd_qos_iops_burst_seconds': '1',
}


@ddt.ddt
class CephOptionsTest(untrusted.TestCase):
    @ddt.data({}, _DEFAULTS)
    def test_nothing_to_do(self, values: dict[str, str]) -> None:
        checked = list(ceph_options.check('client', values))
        self.assertEqual(1, len(checked))
        self.assertEqual([], hosts.problems(checked))

    @ddt.data(
        ('rbd_blocklist_expire_seconds', '60', _S.WARNING),
        ('rbd_blocklist_on_break_lock', 'false', _S.WARNING),
        ('rbd_default_features', '1', _S.WARNING),
        ('rbd_default_features', 'layering,striping', _S.WARNING),
        ('rbd_cache', 'false', _S.NOTICE),
        ('rbd_cache_policy', 'writethrough', _S.WARNING),
        ('rbd_read_from_replica_policy', 'balance', _S.WARNING),
        ('rbd_read_from_replica_policy', 'localize', _S.WARNING),
        ('rbd_cache_size', '0', _S.WARNING),
        ('rbd_cache_max_dirty', '0', _S.WARNING),
        ('rbd_cache_writethrough_until_flush', 'false', _S.WARNING),
        ('rados_osd_op_timeout', '20', _S.WARNING),
        ('rados_osd_op_timeout', '21', _S.NOTICE),
        ('rbd_qos_exclude_ops', 'write', _S.WARNING),
        ('rbd_qos_write_bps_limit', '1', _S.WARNING),
        ('rbd_qos_iops_burst', '5000', _S.WARNING),
        ('rbd_qos_iops_burst_seconds', '60', _S.WARNING),
        ('ms_client_mode', 'secure', _S.NOTICE),
        ('ms_client_mode', 'secure crc', _S.NOTICE),
    )
    @ddt.unpack
    def test_problem_names_its_option(
        self, name: str, value: str, severity: _S
    ) -> None:
        values = {**_DEFAULTS, name: value}
        (finding,) = ceph_options.check('client', values)
        self.assertEqual(severity, finding.severity)
        self.assertIn(name, finding.seen)

    def test_limits_of_a_pool(self) -> None:
        metadata = {
            'conf_rbd_qos_iops_burst': '5000',
            'conf_rbd_qos_exclude_ops': 'write',
        }
        checked = ceph_options.overrides('volumes', lambda: metadata)
        self.assertEqual(
            ['rbd_qos_exclude_ops = write', 'rbd_qos_iops_burst = 5000'],
            [each.seen for each in checked],
        )

    @hypothesis.given(untrusted.TEXTS, untrusted.TEXTS)
    @hypothesis.example('a; reboot', '$(reboot)')
    def test_command_of_the_remedy_has_a_name_as_one_word(
        self, pool: str, name: str
    ) -> None:
        metadata = {f'conf_rbd_cache{name}': 'true'}
        (finding,) = ceph_options.overrides(pool, lambda: metadata)
        command = finding.remedy.removeprefix('Remove it: ').removesuffix(
            '. It overrides the cache modes of all images in the pool.'
        )
        self.assertEqual(
            ['rbd', 'config', 'pool', 'remove', pool, f'rbd_cache{name}'],
            shlex.split(command),
        )

    @hypothesis.given(
        strategies.dictionaries(
            strategies.sampled_from(ceph_options.NAMES), untrusted.TEXTS
        )
    )
    def test_any_values_are_judged(self, values: dict[str, str]) -> None:
        self.assertNotEqual([], [*ceph_options.check('client', values)])

    def test_overrides_of_a_pool(self) -> None:
        metadata = {
            'conf_rbd_cache_policy': 'writethrough',
            'conf_rbd_default_order': '20',
            'rbd_cache': 'x',
        }
        (finding,) = ceph_options.overrides('volumes', lambda: metadata)
        self.assertEqual('rbd_cache_policy = writethrough', finding.seen)
        self.assertEqual(_S.WARNING, finding.severity)
