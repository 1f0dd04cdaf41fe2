# SPDX-License-Identifier: Apache-2.0

"""Section ``[rbd_cache]`` of nova.conf, parsed once."""

import dataclasses
from typing import Any

from nova_rbd_cache import opts
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options.families import cache_modes

#: The option of nova.conf for each key.
OPTION_OF_KEY = {
    keys.OBJECT_MAP: '[rbd_cache] ephemeral_object_map',
    keys.FEATURES: '[rbd_cache] ephemeral_image_features',
}


@dataclasses.dataclass(frozen=True)
class EphemeralSettings:
    """The features of the RBD images of ephemeral disks.

    :ivar options: the image features, and whether an object map is requested
    :ivar cloud_id: the id in the marks of images; empty to write no marks
    """

    options: options.Values
    cloud_id: str = ''

    @property
    def given(self) -> bool:
        """Whether any of these settings is set."""
        return self != EphemeralSettings(options.Values())

    @property
    def chosen(self) -> bool:
        """Whether the features are set. Otherwise, those of stock Nova apply.

        They are not always the default features of a connection: the
        configuration of a pool, and ``rbd import``, have others.
        """
        return bool(self.options)

    @property
    def whole(self) -> bool:
        """Whether the complete set of features is set."""
        return keys.FEATURES in self.options

    def features(self, stock: features.Features) -> features.Features:
        """Return the features of an image.

        :param stock: the features that stock Nova would use
        """
        return self.options.features_over(stock)


@dataclasses.dataclass(frozen=True)
class DiskSettings:
    """I/O thread and queues of volumes' disks.

    :ivar iothread: whether disks use the I/O thread of their guest
    :ivar queues: how many queues a disk has; None for QEMU's default
    """

    iothread: bool = False
    queues: int | None = None

    @property
    def given(self) -> bool:
        """Whether any of these settings is set."""
        return self != DiskSettings()


@dataclasses.dataclass(frozen=True)
class Settings:
    """The operator's settings for a compute host.

    :ivar allowed_modes: cache modes that volumes may request
    :ivar disks: settings for volumes' disks
    :ivar ephemeral: settings for ephemeral disks
    :ivar live_migrate_unsafe: whether guests with a disk in mode ``unsafe``
        may be migrated live
    """

    allowed_modes: tuple[cache_modes.CacheMode, ...]
    disks: DiskSettings
    ephemeral: EphemeralSettings
    live_migrate_unsafe: bool = False


def enabled(conf: Any) -> bool:
    """Return whether the plug-in is enabled.

    The other options are not read, so they may be invalid while the
    plug-in is disabled.
    """
    opts.register(conf)
    return bool(conf[opts.GROUP].enabled)


def read(conf: Any) -> Settings:
    """Return the settings from Nova's configuration.

    :raises ValueError: for an invalid value; oslo.config names the option
    :raises OptionError: for values that contradict each other
    """
    opts.register(conf)
    section = conf[opts.GROUP]
    choices = {
        key: str(value)
        for key, option in OPTION_OF_KEY.items()
        if (value := section[option.split(' ')[1]]) is not None
    }
    try:
        ephemeral = options.parse(
            choices, keys.Scope.VOLUME, errors.Origin.BACKEND
        )
    except errors.OptionError as error:
        raise error.renamed(OPTION_OF_KEY) from None
    return Settings(
        allowed_modes=cache_modes.parse_cache_modes(section.allowed_modes),
        disks=DiskSettings(section.disk_iothread, section.disk_queues),
        ephemeral=EphemeralSettings(ephemeral, section.cloud_id or ''),
        live_migrate_unsafe=section.live_migrate_unsafe,
    )
