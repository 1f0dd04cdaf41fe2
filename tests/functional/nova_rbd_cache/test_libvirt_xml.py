# SPDX-License-Identifier: Apache-2.0

"""The XML of a disk, read by the libvirt of the machine.

libvirt's test driver is part of its library. It needs no daemon and no QEMU.
"""

import pathlib
import subprocess
import tempfile
from typing import Any

from lxml import etree
from oslo_utils import versionutils

from nova_rbd_cache import volume
from rbd_volume_options.families import discard
from tests import runs
from tests.unit.nova_rbd_cache import base

_DOMAIN = """<domain type="test"><name>guest</name><memory>8192</memory>
<os><type>hvm</type></os><devices>{disk}</devices></domain>"""


def _virsh(*words: str) -> str:
    done = subprocess.run(
        ['virsh', '--connect', 'test:///default', *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@runs.tags(runs.DEBIAN)
class DiscardGranularityTest(base.NovaTestCase):
    def block_io(self, *options: str) -> dict[str, Any]:
        """Return the attributes that libvirt has of a disk's ``blockio``."""
        info = base.connection_info()
        info['data'] |= {
            'logical_block_size': '512',
            'physical_block_size': '4096',
            'discard_granularity': 4 << 20,
        }
        driver: Any = volume.RBDCacheVolumeDriver(base.FakeHost())
        disk = driver.get_config(info, base.DISK_INFO).to_xml()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'guest.xml'
            path.write_text(_DOMAIN.format(disk=disk))
            # A process of virsh is a test driver of its own.
            define = ' '.join(['define', str(path), *options])
            shown = _virsh(f'{define}; dumpxml guest')
        tree = etree.fromstring(shown[shown.index('<domain') :])
        return dict(tree.find('.//blockio').attrib)

    def test_libvirt_has_it_from_the_oldest_release_that_is_named(
        self,
    ) -> None:
        sectors = {'logical_block_size': '512', 'physical_block_size': '4096'}
        version = versionutils.convert_version_to_int(_virsh('--version'))
        oldest = discard.OLDEST_LIBVIRT
        if version >= versionutils.convert_version_to_int(oldest):
            expected = {**sectors, 'discard_granularity': '4194304'}
            self.assertEqual(expected, self.block_io('--validate'))
        else:
            # Silently ignored: therefore such a host refuses the volume.
            self.assertEqual(sectors, self.block_io())
