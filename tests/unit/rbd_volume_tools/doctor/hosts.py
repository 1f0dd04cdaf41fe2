# SPDX-License-Identifier: Apache-2.0

"""Configuration files and programs for tests."""

import pathlib
from typing import Any

from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings

CINDER = """
[DEFAULT]
enabled_backends = ceph, lvm
osapi_volume_extension = cinder.api.contrib.standard_extensions
osapi_volume_extension = cinder_rbd_ext.api.extension.RBDVolumeOptions
transport_url = rabbit://user:secret@host
[ceph]
volume_driver = cinder_rbd_ext.driver.RBDExtDriver
volume_backend_name = fast
rbd_pool = volumes
rbd_user = cinder
rbd_volume_data_pool = data
[lvm]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
[unused]
volume_driver = cinder.volume.drivers.rbd.RBDDriver
"""
GLANCE = """
[DEFAULT]
enabled_backends = fast:rbd_objmap, old:rbd, files:file
[files]
[old]
[fast]
rbd_store_user = glance
rbd_store_pool = pictures
"""
NOVA = """
[libvirt]
images_type = rbd
images_rbd_pool = vms
rbd_user = nova
disk_cachemodes = "file=none",network=none
hw_machine_type = x86_64=q35
[rbd_cache]
disk_iothread = true
"""


def conf(
    folder: str, text: str, **replaced: str
) -> configuration.Configuration:
    """Return the configuration from a file.

    :param replaced: the lines to replace, by the option at their beginning
    """
    lines = [
        replaced.get(line.partition(' =')[0], line)
        for line in text.splitlines()
    ]
    path = pathlib.Path(folder, 'service.conf')
    path.write_text('\n'.join(lines))
    return configuration.Configuration([path])


# A part of Cinder's Ceph backup driver before 2026.2.
_FAULTY = """\
            if (discard_zeros and volume_utils.is_all_zero(data)):
                action = "Discarded"
            else:
                dest.write(data)
        dest.seek(0)
"""


def faulty_backup_driver(folder: str) -> pathlib.Path:
    """Write the Ceph backup driver into the folder of a Cinder."""
    path = pathlib.Path(folder, 'backup', 'drivers', 'ceph.py')
    path.parent.mkdir(parents=True)
    path.write_text(_FAULTY)
    return path


def problems(checked: Any) -> list[tuple[str, findings.Severity]]:
    """Return the subject and severity of each problem."""
    return [
        (each.subject, each.severity)
        for each in checked
        if each.severity is not None
    ]


class Programs:
    """Fake programs, by name.

    :ivar outputs: the output of each program; other programs are missing
    """

    def __init__(self, **outputs: str) -> None:
        self.outputs = outputs
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str]) -> tuple[int, str, str]:
        """Run a program."""
        self.commands.append(command)
        name = command[0].replace('-', '_')
        if name not in self.outputs:
            raise FileNotFoundError(name)
        out = self.outputs[name]
        return (0, out, '') if out else (1, '', 'made to fail')
