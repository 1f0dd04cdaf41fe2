# SPDX-License-Identifier: Apache-2.0

"""The parts of Cinder: driver, API extension, and the pools of back ends."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import difflib
from importlib import util
import pathlib
import re
import uuid

from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import pools

DEFAULT = configuration.DEFAULT
OURS = 'cinder_rbd_ext.driver.RBDExtDriver'
STOCK = 'cinder.volume.drivers.rbd.RBDDriver'
STANDARD = 'cinder.api.contrib.standard_extensions'
EXTENSION = 'cinder_rbd_ext.api.extension.RBDVolumeOptions'
_BACKUP = 'cinder.backup.drivers.ceph.'
# The lines of this driver that skip zeros in a restore to a new volume.
_SKIPS_ZEROS = re.compile(r'if \(?discard_zeros\b.*?\belse:', re.DOTALL)
_CONF = '/etc/ceph/ceph.conf'
#: Where oslo.config looks for the policy file, besides the folder of the
#: configuration file.
_FOLDERS = (pathlib.Path('/etc/cinder'), pathlib.Path('/etc'))

Finding = findings.Finding


def back_ends(conf: configuration.Configuration) -> tuple[str, ...]:
    """Return the enabled back ends with an RBD driver."""
    return tuple(
        section
        for section in conf.list(DEFAULT, 'enabled_backends')
        if conf.get(section, 'volume_driver') in (OURS, STOCK)
    )


def accesses(
    conf: configuration.Configuration, data_pools: dict[str, set[str]]
) -> Iterator[pools.Access]:
    """Yield the Ceph users and pools of the back ends.

    :param data_pools: data pools of volume types, by the names of the back
        ends
    """
    for section in back_ends(conf):
        name = conf.get(section, 'volume_backend_name', section)
        own = conf.get(section, 'rbd_volume_data_pool')
        extra = data_pools.get(name, set()) | ({own} if own else set())
        yield pools.Access(
            f'Cinder [{section}]',
            conf.get(section, 'rbd_ceph_conf') or _CONF,
            conf.get(section, 'rbd_user') or 'admin',
            (conf.get(section, 'rbd_pool', 'rbd'), *sorted(extra)),
        )
    if conf.get(DEFAULT, 'backup_driver').startswith(_BACKUP):
        yield pools.Access(
            'Cinder backup_ceph_user',
            conf.get(DEFAULT, 'backup_ceph_conf') or _CONF,
            conf.get(DEFAULT, 'backup_ceph_user') or 'cinder',
            (conf.get(DEFAULT, 'backup_ceph_pool') or 'backups',),
        )


def check_sections(
    service: str, conf: configuration.Configuration, named: Iterable[str]
) -> Iterator[Finding]:
    """Check that the sections of back ends exist.

    :param named: the names in ``enabled_backends``
    """
    for name in named:
        if name not in conf.sections():
            near = difflib.get_close_matches(name, conf.sections(), 1)
            yield findings.error(
                f'{service} enabled_backends',
                f'{conf} has no section [{name}]',
                f'Add the section, or correct its name{_meant(near)}.',
            )


def _meant(near: list[str]) -> str:
    return f', such as {near[0]}' if near else ''


def check(
    conf: configuration.Configuration, heartbeat_grace: float
) -> Iterator[Finding]:
    """Check the configuration of Cinder.

    :param heartbeat_grace: seconds, ``osd_heartbeat_grace`` of Ceph
    """
    sections = back_ends(conf)
    if not sections:
        yield findings.warning(
            'Cinder back ends',
            f'no RBD back end in enabled_backends of {conf}',
            f'Set volume_driver = {OURS} in the section of a back end.',
        )
    yield from check_sections(
        'Cinder', conf, conf.list(DEFAULT, 'enabled_backends')
    )
    for section in sections:
        yield _driver(section, conf.get(section, 'volume_driver'))
        yield from _timeout(conf, section, heartbeat_grace)
        yield from _secret(conf, section)
    yield _extension(conf)
    yield from _policy_file(conf)


def installed() -> pathlib.Path | None:
    """Return the folder of Cinder in this Python environment, if any."""
    spec = util.find_spec('cinder')
    return pathlib.Path(spec.origin).parent if spec and spec.origin else None


def check_restores(
    conf: configuration.Configuration,
    cinder: pathlib.Path | None,
    encrypted: Collection[str] | None,
) -> Iterator[Finding]:
    """Check that the Ceph backup driver restores encrypted volumes correctly.

    The driver restores other RBD volumes as differences, without the lines in
    question. A release can get the correction as an update, so the code is
    read instead of the version.

    :param cinder: the folder of Cinder; None if it is not installed
    :param encrypted: the encrypted volume types; None if unknown
    """
    is_used = conf.get(DEFAULT, 'backup_driver').startswith(_BACKUP)
    if (
        not is_used
        or cinder is None
        or (encrypted is not None and not encrypted)
    ):
        return
    source = cinder / 'backup' / 'drivers' / 'ceph.py'
    skips = _SKIPS_ZEROS.search(source.read_text() if source.is_file() else '')
    if skips and '.seek(' not in skips[0]:
        types = ', '.join(sorted(encrypted or ())) or 'not asked'
        yield findings.warning(
            'Cinder backup_driver',
            'a backup of an encrypted volume that is restored to a new volume '
            'is not restored correctly (bug 2155612 of Cinder); encrypted '
            f'volume types: {types}',
            'Install a release of Cinder with the correction, such as 2026.2. '
            'Until then, restore such backups to existing volumes only.',
        )


def _driver(section: str, driver: str) -> Finding:
    subject = f'Cinder [{section}] driver'
    if driver == OURS:
        return Finding(subject, driver)
    return findings.warning(
        subject,
        driver,
        f'Set volume_driver = {OURS}. Keys such as rbd:stripe_unit have no '
        'effect on this back end.',
    )


#: Instead of the value, which may be the key itself.
NOT_A_UUID = 'the value is not a UUID (not shown)'


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _secret(
    conf: configuration.Configuration, section: str
) -> Iterator[Finding]:
    secret = conf.get(section, 'rbd_secret_uuid')
    if secret and not is_uuid(secret):
        yield findings.error(
            f'Cinder [{section}] rbd_secret_uuid',
            NOT_A_UUID,
            "Set the UUID of libvirt's secret on the compute hosts (virsh "
            'secret-list).',
        )


def _policy_file(conf: configuration.Configuration) -> Iterator[Finding]:
    name = conf.get('oslo_policy', 'policy_file')
    if not name or '$' in name:
        return
    folders = (*(path.parent for path in conf.paths), *_FOLDERS)
    if not any((folder / name).is_file() for folder in folders):
        yield findings.error(
            'Cinder [oslo_policy] policy_file',
            f'there is no {name}',
            'Correct the name, or create the file. Without it, the default '
            'policies apply, which may allow what the file is to forbid.',
        )


def _extension(conf: configuration.Configuration) -> Finding:
    subject = 'Cinder API extension'
    extensions = conf.all(DEFAULT, 'osapi_volume_extension')
    if EXTENSION not in extensions:
        return findings.warning(
            subject,
            ', '.join(extensions) or 'osapi_volume_extension is unset',
            f'Add osapi_volume_extension = {EXTENSION} for cinder-api. See '
            'the installation guide.',
        )
    if STANDARD not in extensions:
        return findings.error(
            subject,
            ', '.join(extensions),
            f'Add osapi_volume_extension = {STANDARD} too; Cinder lacks its '
            'own extensions without it.',
        )
    return Finding(subject, EXTENSION)


def _timeout(
    conf: configuration.Configuration, section: str, grace: float
) -> Iterator[Finding]:
    configured = conf.get(section, 'rados_connect_timeout', '-1')
    subject = f'Cinder [{section}] rados_connect_timeout'
    try:
        seconds = float(configured)
    except ValueError:
        yield findings.error(subject, configured, 'Set a number of seconds.')
        return
    if 0 < seconds <= grace:
        yield findings.warning(
            subject,
            f'{configured} s; osd_heartbeat_grace is {grace:g} s',
            'Set more than osd_heartbeat_grace, or -1. Operations of Cinder '
            'fail whenever an OSD fails, before Ceph marks it down.',
        )
