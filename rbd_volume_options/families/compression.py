# SPDX-License-Identifier: Apache-2.0

"""The option about compression."""

from rbd_volume_options import definitions
from rbd_volume_options import keys
from rbd_volume_options import phrases

Phrase = phrases.Phrase

_COMPRESSION_HINTS = {
    'none': Phrase('the mode of the pool decides'),
    'compressible': Phrase('saves space'),
    'incompressible': Phrase('saves processor time'),
}

OPTIONS = (
    definitions.Option(
        key=keys.COMPRESSION_HINT,
        kind=definitions.Kind.IMAGE_CONFIGURATION,
        value_type=definitions.ValueType.WORD,
        title=Phrase('Compression hint'),
        summary=Phrase('whether Ceph should compress the data'),
        description=(
            'Whether Ceph should compress the data that is written from '
            'now on: none, compressible or incompressible. Ignored in '
            'pools with the compression mode none or force, and useless '
            'for encrypted volumes.'
        ),
        when_to_use=Phrase(
            'compressible saves space for text, logs and databases in '
            'pools with mode passive, and takes processor time. '
            'incompressible saves that time for media and archives in '
            'those with aggressive. Useless for encrypted volumes.'
        ),
        parse=definitions.word_parser(
            keys.COMPRESSION_HINT,
            Phrase('not a compression hint'),
            tuple(_COMPRESSION_HINTS),
        ),
        conf_type='compression hint',
        conf_help=(
            'Default compression hint of volumes: none, compressible or '
            'incompressible. The metadata and the type of a volume '
            'override it with rbd:compression_hint. BlueStore compresses '
            'compressible data in pools with compression_mode passive, '
            'and does not compress incompressible data in pools with '
            'aggressive. If unset, images have no hint.'
        ),
        policy=definitions.Policy(
            'compression_hint',
            'Set or change the compression hint of a volume',
        ),
        attribute=f'{definitions.ALIAS}:compression_hint',
        fixed=False,
        takes_effect=Phrase(
            'within seconds, for data that is written afterwards'
        ),
        item='rbd_compression_hint',
        choices=_COMPRESSION_HINTS,
        suggestions=('compressible', 'incompressible'),
    ),
)
