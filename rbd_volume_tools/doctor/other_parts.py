# SPDX-License-Identifier: Apache-2.0

"""Checks the parts of Glance, Horizon and Nova."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import json
import pathlib
from typing import Any

from rbd_volume_options.families import cache_modes
from rbd_volume_tools.audit import records
from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import api_parts
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import pools

STORE = 'rbd_objmap'
_STOCK_STORE = 'rbd'
ENABLED = '_3110_rbd_volume_options.py'
#: Folders of Horizon in distributions and virtual environments.
ENABLED_FOLDERS = (
    'etc/openstack-dashboard/enabled',
    'etc/openstack-dashboard/local/enabled',
    'usr/lib/python3/dist-packages/openstack_dashboard/local/enabled',
    'usr/share/openstack-dashboard/openstack_dashboard/local/enabled',
)
_CONF = '/etc/ceph/ceph.conf'
_UNSAFE = 'unsafe'
_CACHED = frozenset({'writeback', 'writethrough'})
_VIRSH = ('virsh', '-c', 'qemu:///system')

Finding = findings.Finding
Severity = findings.Severity
#: Runs a command; returns its status, output and errors.
Run = Callable[[list[str]], tuple[int, str, str]]


def glance_stores(conf: configuration.Configuration) -> dict[str, str]:
    """Return the types of Glance's stores, by their names."""
    pairs = (
        each.partition(':')
        for each in conf.list(configuration.DEFAULT, 'enabled_backends')
    )
    return {name.strip(): kind.strip() for name, _, kind in pairs}


def check_glance(conf: configuration.Configuration) -> Iterator[Finding]:
    """Check the stores of Glance."""
    stores = glance_stores(conf)
    yield from cinder_parts.check_sections('Glance', conf, stores)
    for name, kind in stores.items():
        if kind == STORE:
            yield Finding(f'Glance store {name}', kind)
        elif kind == _STOCK_STORE:
            yield findings.notice(
                f'Glance store {name}',
                'type rbd, of the stock driver',
                f'Set {name}:{STORE} in enabled_backends if new images need '
                'an object map.',
            )
    if not stores:
        yield findings.notice(
            'Glance stores',
            f'no enabled_backends in {conf}',
            f'The store {STORE} requires enabled_backends.',
        )


def check_locations(
    conf: configuration.Configuration, glance: Any
) -> Iterator[Finding]:
    """Check that Glance finds the data of its images.

    Glance searches locations without a store in stock stores only, and shows
    the stores of an image. An image of a server with volumes has no data.

    :param glance: Glance's API, as an administrator
    """
    kinds = glance_stores(conf).values()
    if STORE not in kinds or _STOCK_STORE in kinds:
        return
    yield api_parts.listed(
        'Glance images without a store',
        (
            each.id
            for each in records.glance_images(glance)
            if each.status == 'active'
            and each.size
            and 'stores' not in (each.properties or {})
        ),
        Severity.WARNING,
        'They cannot be read, and their RBD images remain when they are '
        'deleted. Enable a stock store on the pool of their locations.',
    )


def glance_accesses(
    conf: configuration.Configuration,
) -> Iterator[pools.Access]:
    """Yield the Ceph users and pools of Glance's stores."""
    for name, kind in glance_stores(conf).items():
        if kind in (STORE, _STOCK_STORE):
            yield pools.Access(
                f'Glance [{name}]',
                conf.get(name, 'rbd_store_ceph_conf') or _CONF,
                conf.get(name, 'rbd_store_user') or 'admin',
                (conf.get(name, 'rbd_store_pool') or 'images',),
            )


def check_horizon(
    root: pathlib.Path, folders: Iterable[str] = ENABLED_FOLDERS
) -> Iterator[Finding]:
    """Check the ``enabled`` file if the host has one of Horizon's folders."""
    dirs = [root / each for each in folders if (root / each).is_dir()]
    if not dirs:
        return
    files = [each / ENABLED for each in dirs if (each / ENABLED).exists()]
    if files:
        yield Finding('Horizon', str(files[0]))
    else:
        yield findings.notice(
            'Horizon',
            f'no {ENABLED} in {", ".join(map(str, dirs))}',
            'Link the file into the folder if the dashboard should show the '
            'options.',
        )


def nova_accesses(
    conf: configuration.Configuration,
) -> Iterator[pools.Access]:
    """Yield the Ceph user and pool of Nova's ephemeral disks."""
    if conf.get('libvirt', 'images_type') == 'rbd':
        yield pools.Access(
            'Nova [libvirt]',
            conf.get('libvirt', 'images_rbd_ceph_conf') or _CONF,
            conf.get('libvirt', 'rbd_user') or 'admin',
            (conf.get('libvirt', 'images_rbd_pool') or 'rbd',),
        )


def check_nova(conf: configuration.Configuration) -> Iterator[Finding]:
    """Check the options of nova-compute that affect RBD disks."""
    modes = dict(
        each.partition('=')[::2]
        for each in conf.list('libvirt', 'disk_cachemodes')
    )
    mode = modes.get('network', '')
    subject = 'Nova [libvirt] disk_cachemodes'
    if mode == _UNSAFE:
        yield findings.error(
            subject,
            'network=unsafe',
            'Use writeback. Volumes that request no mode lose data if the '
            'host fails.',
        )
    elif mode in _CACHED:
        yield findings.notice(
            subject,
            f'network={mode}',
            'Remove network, and set rbd:cache_mode in the volume types that '
            'need it. All RBD volumes that request no mode get this one, '
            'whatever rbd_allowed_cache_modes of their back end.',
        )
    else:
        yield Finding(
            subject,
            f'network={mode}' if mode else 'volumes without a mode get none',
        )
    machine = conf.get('libvirt', 'hw_machine_type')
    if 'q35' in machine:
        yield Finding('Nova [libvirt] hw_machine_type', machine)
    else:
        yield findings.notice(
            'Nova [libvirt] hw_machine_type',
            machine or 'unset; servers get pc (i440fx) on x86_64',
            'Set x86_64=q35 for new servers.',
        )
    if not conf.is_true('rbd_cache', 'disk_iothread', False):
        yield findings.notice(
            'Nova [rbd_cache] disk_iothread',
            'false: the main thread of QEMU serves RBD volumes',
            'Set disk_iothread = true (Nova 33 or later).',
        )


def check_modes(
    nova: configuration.Configuration,
    cinder: configuration.Configuration | None,
) -> Iterator[Finding]:
    """Check that this host offers the modes that back ends allow."""
    safe = frozenset(each.value for each in cache_modes.SAFE_CACHE_MODES)
    offered = frozenset(nova.list('rbd_cache', 'allowed_modes')) or safe
    if not nova.is_true('rbd_cache', 'enabled', True):
        offered = frozenset()
    allowed = safe
    if cinder is not None:
        allowed = frozenset(
            mode
            for section in cinder_parts.back_ends(cinder)
            if cinder.get(section, 'volume_driver') == cinder_parts.OURS
            for mode in cinder.list(section, 'rbd_allowed_cache_modes') or safe
        )
    known = {each.value for each in cache_modes.CacheMode}
    missing = sorted(allowed & known - offered)
    if missing:
        found = findings.notice if cinder is None else findings.warning
        yield found(
            'Nova [rbd_cache] allowed_modes',
            f'this host does not offer {", ".join(missing)}',
            'Allow the modes in [rbd_cache] allowed_modes, or require the '
            'traits CUSTOM_RBD_CACHE_* in flavors. A new server that boots '
            'here with a volume in such a mode otherwise ends in ERROR.',
        )


def check_secrets(
    run: Run,
    nova: configuration.Configuration,
    cinder: configuration.Configuration | None,
    clients: pools.Clients | None,
) -> Iterator[Finding]:
    """Check that libvirt has the secrets that the files name."""
    users = dict(_secrets(nova, cinder))
    if not users:
        return
    try:
        status, out, _ = run([*_VIRSH, 'secret-list'])
    except OSError:
        status = 1
    if status:
        yield findings.notice(
            "libvirt's secrets",
            'unknown: virsh is missing or failed',
            'Run the command as root on a compute host, in the container of '
            'libvirt if there is one.',
        )
        return
    for access, secret in users.items():
        subject = f'{access.origin} rbd_secret_uuid'
        if secret.lower() not in out.lower().split():
            yield findings.error(
                subject,
                f'libvirt on this host has no secret {secret}'
                if cinder_parts.is_uuid(secret)
                else cinder_parts.NOT_A_UUID,
                'Correct the UUID, or define the secret (virsh '
                'secret-define, virsh secret-set-value). Attachments fail.',
            )
        elif _is_of_another_user(run, secret, access, clients):
            yield findings.error(
                subject,
                f'the key in secret {secret} is not that of '
                f'client.{access.user}',
                f'Set the key of client.{access.user} (ceph auth get-key, '
                'virsh secret-set-value), or correct the UUID or the user. '
                'Attachments fail.',
            )
        else:
            yield Finding(subject, secret)


def _secrets(
    nova: configuration.Configuration,
    cinder: configuration.Configuration | None,
) -> Iterator[tuple[pools.Access, str]]:
    """Yield the secrets and the users whose keys they must have."""
    conf = nova.get('libvirt', 'images_rbd_ceph_conf') or _CONF
    user = nova.get('libvirt', 'rbd_user') or ''
    if secret := nova.get('libvirt', 'rbd_secret_uuid'):
        yield pools.Access('Nova [libvirt]', conf, user, ()), secret
    if cinder is None:
        return
    for section in cinder_parts.back_ends(cinder):
        if secret := cinder.get(section, 'rbd_secret_uuid'):
            yield (
                pools.Access(
                    f'Cinder [{section}]',
                    cinder.get(section, 'rbd_ceph_conf') or conf,
                    cinder.get(section, 'rbd_user') or '',
                    (),
                ),
                secret,
            )


def _is_of_another_user(
    run: Run,
    secret: str,
    access: pools.Access,
    clients: pools.Clients | None,
) -> bool:
    """Return whether a secret has the key of another user, as far as known."""
    if clients is None or not access.user:
        return False
    status, key, _ = run([*_VIRSH, 'secret-get-value', secret])
    return not status and clients.authenticates(access, key.strip()) is False


def check_nova_plugin(
    run: Run, paths: Iterable[pathlib.Path]
) -> Iterator[Finding]:
    """Yield the findings of ``nova-rbd-cache check``.

    The check runs as a program, because Nova has its own environment.

    :param paths: configuration files of nova-compute
    """
    command = ['nova-rbd-cache', 'check', '-f', 'json']
    for path in paths:
        command += ['--config-file', str(path)]
    remedy = 'Run nova-rbd-cache check in the environment of nova-compute.'
    try:
        _, out, error = run(command)
        rows: list[dict[str, Any]] = json.loads(out)
    except FileNotFoundError:
        yield findings.warning(
            'Nova plug-in',
            'nova-rbd-cache is not in PATH',
            remedy,
        )
        return
    except ValueError:
        yield findings.warning(
            'Nova plug-in',
            f'nova-rbd-cache check failed: {error.strip()[-200:]}',
            remedy,
        )
        return
    for row in rows:
        ok = row['Result'] == 'ok'
        yield Finding(
            f'Nova plug-in: {row["Subject"]}',
            str(row['Detail']),
            None if ok else Severity.ERROR,
            '' if ok else 'The plug-in is not active. ' + remedy,
        )
