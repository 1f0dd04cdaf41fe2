# SPDX-License-Identifier: Apache-2.0

"""Cinder objects without a database, and settings of a back end."""

from typing import Any

from cinder import objects
from oslo_config import cfg

from cinder_rbd_ext import opts
from rbd_volume_options import backend_settings
from rbd_volume_options import image_record
from rbd_volume_options import keys
from rbd_volume_options import registry

_GROUP = 'ceph'


class Section:
    """The section of a back end, as in Cinder's configuration object."""

    def __init__(self, section: Any) -> None:
        self._section = section

    def __getattr__(self, name: str) -> Any:
        return getattr(self._section, name)

    def safe_get(self, name: str) -> Any:
        """Return the value of an option; None if it is not registered."""
        try:
            return getattr(self._section, name)
        except cfg.NoSuchOptError:
            return None


def section(**options: Any) -> Section:
    """Return a section that sets these options."""
    conf = cfg.ConfigOpts()
    conf.register_opts(opts.backend_opts(), _GROUP)
    conf.register_opt(cfg.IntOpt('rbd_store_chunk_size', default=4), _GROUP)
    conf.register_opt(cfg.StrOpt('disk_geometry'), _GROUP)
    conf(args=[], default_config_files=[], default_config_dirs=[])
    for name, value in options.items():
        conf.set_override(name, value, _GROUP)
    return Section(conf[_GROUP])


def settings(**options: Any) -> backend_settings.BackendSettings:
    """Return settings of a back end; by default, tenants may set all keys."""
    options.setdefault('rbd_tenant_options', ','.join(registry.volume_keys()))
    return backend_settings.BackendSettings.read(section(**options))


def volume_type(**specs: str) -> Any:
    """Return a volume type; ``rbd_x`` stands for ``rbd:x``."""
    return objects.VolumeType(
        extra_specs={k.replace('rbd_', 'rbd:', 1): v for k, v in specs.items()}
    )


def volume(
    metadata: dict[str, str] | None = None, type_: Any = None, **fields: Any
) -> Any:
    """Return a volume that is not in a database, with accepted metadata."""
    mode = (metadata or {}).get(keys.CACHE_MODE)
    accepted = (
        {f'{image_record.RECORD_ACCEPTED}cache_mode': mode} if mode else {}
    )
    return objects.Volume(
        **{
            'id': '11111111-2222-4333-8444-555555555555',
            'metadata': metadata or {},
            'admin_metadata': accepted,
            'replication_extended_status': None,
            'volume_type': type_,
            'size': 1,
            'multiattach': False,
            'source_volid': None,
            'snapshot_id': None,
            'project_id': 'project',
            '_name_id': None,
            'host': 'host@ceph#volumes',
            'cluster_name': None,
            'provider_id': None,
            'provider_location': None,
            'replication_driver_data': None,
            **fields,
        }
    )
