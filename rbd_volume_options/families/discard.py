# SPDX-License-Identifier: Apache-2.0

"""The options about space that servers no longer use.

Guests ignore free space that is smaller than the discard granularity, and
align large discards to it. A discard removes the objects of an image that it
covers completely. On a striped image, only a whole object set does: object
size times stripe count. In other objects, it frees space in pieces of
``rbd_discard_granularity_bytes``.
"""

import contextlib
import functools

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import phrases
from rbd_volume_options import sizes

#: Items of ``connection_info['data']`` that only the Nova plug-in applies.
ITEM_ZEROES = 'detect_zeroes'
#: In bytes.
ITEM_GRANULARITY = 'discard_granularity'

#: The smallest size that frees an object of the image.
OF_LAYOUT = 'layout'

#: A granularity must be a multiple of the logical sector size.
MIN_GRANULARITY = 4 * sizes.KIB
#: The largest power of two below the largest discard of virtio-blk, 4194303
#: sectors. Linux discards nothing if the granularity is larger than that.
MAX_GRANULARITY = sizes.GIB

#: The first release of libvirt that has the attribute. Older ones ignore it.
OLDEST_LIBVIRT = '9.7.0'


def _words() -> dict[str, phrases.Phrase]:
    words = {OF_LAYOUT: phrases.Phrase('frees whole objects of this layout')}
    size = MIN_GRANULARITY
    while size <= MAX_GRANULARITY:
        shown = sizes.format_size(size)
        words[shown.replace(' ', '')] = phrases.Phrase(
            'pieces of {size}', size=shown
        )
        size *= 2
    return words


GRANULARITIES = _words()


def parse_granularity(value: str) -> str:
    """Return a granularity as it is in :data:`GRANULARITIES`.

    :raises OptionError: if it is neither ``layout`` nor an allowed size
    """
    word = value
    with contextlib.suppress(errors.OptionError):
        size = sizes.parse_size(keys.DISCARD_GRANULARITY, value)
        word = sizes.format_size(size).replace(' ', '')
    if word not in GRANULARITIES:
        raise errors.OptionError(
            keys.DISCARD_GRANULARITY,
            value,
            phrases.Phrase('not a discard granularity'),
            phrases.Phrase('layout, or a power of two from 4 KiB to 1 GiB'),
        )
    return word


def granularity_in_bytes(
    granularity: str, image_layout: layout.ImageLayout | None
) -> int | None:
    """Return a granularity in bytes; None if the layout is not known."""
    if granularity != OF_LAYOUT:
        return sizes.parse_size(keys.DISCARD_GRANULARITY, granularity)
    if image_layout is None:
        return None
    size = image_layout.object_size * image_layout.stripe_count
    # Linux rounds to multiples of powers of two only.
    return min(size & -size, MAX_GRANULARITY)


Phrase = phrases.Phrase

_ZEROES = {
    'off': Phrase('zeros are written like other data'),
    'on': Phrase('zeros are not sent to the storage'),
    'unmap': Phrase('zeros free space, as discards do'),
}

OPTIONS = (
    definitions.Option(
        key=keys.DISCARD,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.BOOLEAN,
        title=Phrase('Discard'),
        summary=Phrase('whether discards of the server free space'),
        description=(
            'Whether discards of the server (fstrim, TRIM) free space in '
            'the cluster. true by default. If false, they succeed and '
            'free nothing.'
        ),
        when_to_use=Phrase(
            'Leave the default. false keeps deleted data in the volume, '
            'so that writes do not allocate space again.'
        ),
        parse=functools.partial(features.parse_boolean, keys.DISCARD),
        conf_type='boolean value',
        conf_help=(
            'Whether discards of servers free space in the cluster, by '
            'default. The metadata and the type of a volume override it '
            'with rbd:discard. If unset, they do.'
        ),
        policy=definitions.Policy(
            'discard',
            'Set or change whether a volume accepts discards',
        ),
        attribute=f'{definitions.ALIAS}:discard',
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item='discard',
        connection_items=lambda value: {'discard': value},
        bounds={'allowed': [False, True]},
        suggestions=('true', 'false'),
    ),
    definitions.Option(
        key=keys.DISCARD_GRANULARITY,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Discard granularity'),
        summary=Phrase('smallest discard that the disk in the server reports'),
        description=(
            'Smallest discard that the disk in the server reports: layout '
            '(the smallest size that frees an object of the volume) or a '
            'power of two from 4 KiB to 1 GiB. Only on compute hosts with '
            'the Nova plug-in and libvirt 9.7 or later.'
        ),
        when_to_use=Phrase(
            'Leave the default, unless discards of the operating system '
            'fail: Windows 11 requires a larger one than the default. '
            'layout saves discards that free no object.'
        ),
        parse=parse_granularity,
        conf_type='discard granularity',
        conf_help=(
            'Default discard granularity of the disks in servers: layout '
            '(the smallest size that frees an object of the volume) or a '
            'power of two from 4 KiB to 1 GiB. The metadata and the type '
            'of a volume override it with rbd:discard_granularity. '
            'Volumes with a granularity cannot be attached on compute hosts '
            'with an older libvirt than 9.7. If unset, QEMU decides.'
        ),
        policy=definitions.Policy(
            'discard_granularity',
            'Set or change the discard granularity of a volume',
        ),
        attribute=f'{definitions.ALIAS}:discard_granularity',
        unset=Phrase('Default: set by QEMU'),
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=ITEM_GRANULARITY,
        for_layout=granularity_in_bytes,
        connection_items=lambda value: {ITEM_GRANULARITY: value},
        requires=(f'the Nova plug-in and libvirt {OLDEST_LIBVIRT}'),
        choices=GRANULARITIES,
        suggestions=(OF_LAYOUT, '32KiB', '4MiB'),
    ),
    definitions.Option(
        key=keys.DETECT_ZEROES,
        kind=definitions.Kind.CONNECTION,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Detect zeroes'),
        summary=Phrase('how writes of zeros are treated'),
        description=(
            'Whether QEMU detects zeros in the writes of the server: off, '
            'on (they are not transferred to the storage) or unmap (they '
            'free space, as discards do; with rbd:discard = false, unmap '
            'acts as on). Only on compute hosts with the Nova plug-in.'
        ),
        when_to_use=Phrase(
            'Leave the default. unmap keeps a volume thin if images or '
            'backups with many zeros are written to it, and takes '
            'processor time of the compute host for each write.'
        ),
        parse=definitions.word_parser(
            keys.DETECT_ZEROES,
            Phrase('not a way to treat zeros'),
            tuple(_ZEROES),
        ),
        conf_type='treatment of zeros',
        conf_help=(
            'How writes of zeros by servers are treated, by default: off, '
            'on or unmap. The metadata and the type of a volume override '
            'it with rbd:detect_zeroes. With on and unmap, volumes cannot be '
            'attached on compute hosts without the Nova plug-in. If unset, '
            'zeros are written like other data.'
        ),
        policy=definitions.Policy(
            'detect_zeroes',
            'Set or change how writes of zeros to a volume are treated',
        ),
        attribute=f'{definitions.ALIAS}:detect_zeroes',
        fixed=False,
        takes_effect=Phrase('at the next attachment'),
        item=ITEM_ZEROES,
        connection_items=lambda value: {ITEM_ZEROES: value},
        requires='the Nova plug-in',
        without_plug_in='off',
        choices=_ZEROES,
        suggestions=tuple(_ZEROES),
    ),
)
