# SPDX-License-Identifier: Apache-2.0

"""Writes tempest.conf for the sandbox.

Run with the venv's Python, which has openstacksdk, and the environment of the
sandbox's clients: ``python -m tests.tempest.configure FILE``. It creates
nothing in the cloud and uses the sandbox's images and flavors.
"""

import configparser
import pathlib
import sys
from typing import Any

import openstack

_IMAGE = 'tiny'
# Stored next to the configuration. Scenarios create Glance images from it.
_IMAGE_FILE = 'tiny.raw'
_FLAVORS = ('tiny', 'small')
_TYPE = 'rbd'

Sections = dict[str, dict[str, str]]

#: Settings for every sandbox. Servers have no address and no login.
_FIXED: Sections = {
    'auth': {
        'use_dynamic_credentials': 'true',
        'create_isolated_networks': 'false',
        'tempest_roles': 'member',
    },
    'identity': {'auth_version': 'v3', 'region': 'RegionOne'},
    'service_available': {
        'cinder': 'true',
        'glance': 'true',
        'swift': 'false',
        'horizon': 'false',
        'rbd_volume_options': 'true',
    },
    'image': {'build_timeout': '120'},
    'volume': {
        'catalog_type': 'block-storage',
        'storage_protocol': 'ceph',
        'vendor_name': 'Open Source',
        'volume_size': '1',
        'volume_type': _TYPE,
        'volume_type_multiattach': 'rbd-multiattach',
        'backend_names': 'rbd,rbd2',
        'backup_driver': 'ceph',
        'build_interval': '1',
        'build_timeout': '180',
        'min_microversion': '3.0',
        'max_microversion': 'latest',
        'manage_snapshot_ref': 'source-name,snapshot-%s',
    },
    'volume-feature-enabled': {
        'backup': 'true',
        'snapshot': 'true',
        'clone': 'true',
        'manage_volume': 'true',
        'manage_snapshot': 'true',
        'extend_attached_volume': 'true',
        'extend_attached_encrypted_volume': 'true',
        'multi_backend': 'true',
        'consistency_group': 'false',
        'volume_revert': 'true',
        'concurrency_tests': 'true',
    },
    'compute': {
        'min_compute_nodes': '1',
        'max_microversion': 'latest',
        'build_interval': '1',
        'build_timeout': '180',
    },
    # Otherwise the tests of Cinder's roles are skipped.
    'enforce_scope': {'cinder': 'true'},
    'scenario': {'img_disk_format': 'raw', 'img_container_format': 'bare'},
    # There is one compute host, and guests have no login.
    'compute-feature-enabled': {
        'live_migration': 'false',
        'cold_migration': 'false',
        'resize': 'false',
        'vnc_console': 'false',
        'console_output': 'true',
        'volume_multiattach': 'true',
        'attach_encrypted_volume': 'true',
        'swap_volume': 'false',
    },
    'validation': {'run_validation': 'false'},
    'network-feature-enabled': {'port_security': 'false'},
}


def sections(cloud: Any, folder: pathlib.Path) -> Sections:
    """Return the sections for a cloud, with the IDs of its resources."""
    auth = cloud.config.get_auth_args()
    services = {entry['type'] for entry in cloud.service_catalog}
    has_nova = 'compute' in services
    options: Sections = {name: dict(each) for name, each in _FIXED.items()}
    options['DEFAULT'] = {'log_file': str(folder / 'tempest.log')}
    options['oslo_concurrency'] = {'lock_path': str(folder / 'lock')}
    options['auth'].update(
        admin_username=auth['username'],
        admin_password=auth['password'],
        admin_project_name=auth['project_name'],
        admin_domain_name=auth['user_domain_name'],
    )
    options['identity']['uri_v3'] = f'{auth["auth_url"].rstrip("/")}/'
    options['service_available'].update(
        nova=str(has_nova), neutron=str('network' in services)
    )
    image = cloud.image.find_image(_IMAGE, ignore_missing=False).id
    options['compute'].update(image_ref=image, image_ref_alt=image)
    options['scenario']['img_file'] = str(folder / _IMAGE_FILE)
    if has_nova:
        first, second = (
            cloud.compute.find_flavor(name, ignore_missing=False).id
            for name in _FLAVORS
        )
        options['compute'].update(flavor_ref=first, flavor_ref_alt=second)
    options['rbd_volume_options_feature_enabled'] = {
        'cache_mode': str(has_nova)
    }
    return options


def main() -> int:
    """Write the file that is given as the first argument."""
    path = pathlib.Path(sys.argv[1])
    writer = configparser.ConfigParser(interpolation=None)
    cloud = openstack.connect(cloud='admin')
    writer.read_dict(sections(cloud, path.parent))
    image = cloud.image.find_image(_IMAGE, ignore_missing=False).id
    cloud.image.download_image(image, output=str(path.parent / _IMAGE_FILE))
    # It contains the administrator's password.
    path.touch(0o600)
    with path.open('w') as out:
        writer.write(out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
