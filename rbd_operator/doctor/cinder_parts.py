#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""The parts of Cinder: driver, API extension, and the pools of back ends."""

from collections.abc import Iterator
import dataclasses

from rbd_command_line import findings
from rbd_operator.doctor import configuration
from rbd_volume_options import wire

OURS = 'cinder_rbd_ext.driver.RBDExtDriver'
STOCK = 'cinder.volume.drivers.rbd.RBDDriver'
STANDARD = 'cinder.api.contrib.standard_extensions'
EXTENSION = 'cinder_rbd_ext.api.extension.RBDVolumeOptions'

Finding = findings.Finding
Severity = findings.Severity


@dataclasses.dataclass(frozen=True)
class Access:
    """A Ceph user and the pools that it must be able to write to.

    :ivar origin: the section that names them
    :ivar conf: path of ceph.conf
    :ivar user: name of the Ceph user, without ``client.``
    """

    origin: str
    conf: str
    user: str
    pools: tuple[str, ...]


def back_ends(conf: configuration.Configuration) -> tuple[str, ...]:
    """Return the enabled back ends with an RBD driver."""
    return tuple(
        section
        for section in conf.list(configuration.DEFAULT, 'enabled_backends')
        if conf.get(section, 'volume_driver') in (OURS, STOCK)
    )


def accesses(
    conf: configuration.Configuration, data_pools: dict[str, set[str]]
) -> Iterator[Access]:
    """Yield the Ceph users and pools of the back ends.

    :param data_pools: data pools of volume types, by the names of the back
        ends
    """
    for section in back_ends(conf):
        name = conf.get(section, 'volume_backend_name', section)
        own = conf.get(section, wire.RBD_VOLUME_DATA_POOL)
        extra = data_pools.get(name, set()) | ({own} if own else set())
        yield Access(
            f'Cinder [{section}]',
            conf.get(section, 'rbd_ceph_conf') or '/etc/ceph/ceph.conf',
            conf.get(section, 'rbd_user') or 'admin',
            (conf.get(section, 'rbd_pool', 'rbd'), *sorted(extra)),
        )


def check(
    conf: configuration.Configuration, heartbeat_grace: float
) -> Iterator[Finding]:
    """Check the configuration of Cinder.

    :param heartbeat_grace: seconds, ``osd_heartbeat_grace`` of Ceph
    """
    sections = back_ends(conf)
    if not sections:
        yield Finding(
            'Cinder back ends',
            f'no RBD back end in enabled_backends of {conf}',
            Severity.WARNING,
            f'Set volume_driver = {OURS} in the section of a back end.',
        )
    for section in sections:
        yield _driver(section, conf.get(section, 'volume_driver'))
        yield from _timeout(conf, section, heartbeat_grace)
    yield _extension(conf)


def _driver(section: str, driver: str) -> Finding:
    subject = f'Cinder [{section}] driver'
    if driver == OURS:
        return Finding(subject, driver)
    return Finding(
        subject,
        driver,
        Severity.WARNING,
        f'Set volume_driver = {OURS}. Keys such as rbd:stripe_unit have no '
        'effect on this back end.',
    )


def _extension(conf: configuration.Configuration) -> Finding:
    subject = 'Cinder API extension'
    given = conf.all(configuration.DEFAULT, 'osapi_volume_extension')
    if EXTENSION not in given:
        return Finding(
            subject,
            ', '.join(given) or 'osapi_volume_extension is unset',
            Severity.WARNING,
            f'Add osapi_volume_extension = {EXTENSION} for cinder-api. See '
            'the installation guide.',
        )
    if STANDARD not in given:
        return Finding(
            subject,
            ', '.join(given),
            Severity.ERROR,
            f'Add osapi_volume_extension = {STANDARD} too; Cinder lacks its '
            'own extensions without it.',
        )
    return Finding(subject, EXTENSION)


def _timeout(
    conf: configuration.Configuration, section: str, grace: float
) -> Iterator[Finding]:
    given = conf.get(section, 'rados_connect_timeout', '-1')
    subject = f'Cinder [{section}] rados_connect_timeout'
    try:
        seconds = float(given)
    except ValueError:
        yield Finding(
            subject, given, Severity.ERROR, 'Set a number of seconds.'
        )
        return
    if 0 < seconds <= grace:
        yield Finding(
            subject,
            f'{given} s; osd_heartbeat_grace is {grace:g} s',
            Severity.WARNING,
            'Set more than osd_heartbeat_grace, or -1. Operations of Cinder '
            'fail whenever an OSD fails, before Ceph marks it down.',
        )
