# SPDX-License-Identifier: Apache-2.0

"""The ``rbd:`` keys of a request: random values and expected verdicts.

The rules are implemented here again, independently of the code under test.
"""

from __future__ import annotations

import enum
import random
import unicodedata

from rbd_volume_options import features
from tests.life import kinds

Keys = dict[str, str]

MIB = 2**20
_SIZES = {
    '64K': 2**16,
    '65536': 2**16,
    '16K': 2**14,
    '512K': 2**19,
    '1M': MIB,
    '1048576': MIB,
    '4M': 4 * MIB,
    '4MiB': 4 * MIB,
    '8M': 8 * MIB,
}
_COUNTS = {str(n): n for n in (1, 2, 3, 4, 7, 8, 16, 48, 64, 65, 1000)}
_SIZE, _UNIT, _COUNT, _MAP, _FEATURES, _MODE = kinds.ALL
_MODES = ('none', 'writethrough', 'writeback', 'directsync', 'unsafe')
_TRUE, _FALSE = ('true', '<is> True'), ('false',)
_SETS = (
    'layering',
    'layering,exclusive-lock',
    'layering,exclusive-lock,object-map,fast-diff',
    'layering,deep-flatten',
)
_LAYOUTS: tuple[Keys, ...] = (
    {_SIZE: '1M'},
    {_SIZE: '8M'},
    {_SIZE: '1048576', _UNIT: '64K', _COUNT: '8'},
    {_UNIT: '64K', _COUNT: '4'},
    {_UNIT: '1M', _COUNT: '2'},
    {_SIZE: '64K', _UNIT: '64K', _COUNT: '1', _MAP: 'true'},
    # The stripe width divides 3 GiB, but no power of two.
    {_UNIT: '1M', _COUNT: '48'},
    {_SIZE: '1M', _UNIT: '512K', _COUNT: '3'},
)
_INVALID: tuple[Keys, ...] = (
    {_SIZE: '3M'},
    {_SIZE: '64M'},
    {_SIZE: ''},
    {_SIZE: '-1'},
    {_UNIT: '64K'},
    {_COUNT: '4'},
    {_UNIT: '100K', _COUNT: '4'},
    {_UNIT: '64K', _COUNT: '0'},
    {_UNIT: '64K', _COUNT: '65'},
    {_UNIT: '8M', _COUNT: '2'},
    {_SIZE: '64K', _UNIT: '1M', _COUNT: '2'},
    {_MAP: 'maybe'},
    {_FEATURES: 'object-map'},
    {_FEATURES: 'layering,fast-diff'},
    {_FEATURES: 'layering', _MAP: 'true'},
    {_MODE: 'fast'},
    {'rbd:stripes': '4'},
    {'rbd:data_pool': 'volumes-data'},
    {'rbd:tenant_options': 'rbd:features'},
)


class Verdict(enum.Enum):
    """The expected result of a request."""

    ACCEPTED = 'accepted'
    REFUSED = 'refused'
    EITHER = 'either'


def drawn(rng: random.Random) -> Keys:
    """Draw the keys of a request."""
    items: Keys = {}
    chance = rng.random()
    if chance < 0.35:
        return items
    if chance < 0.75:
        items.update(rng.choice(_LAYOUTS))
    elif chance < 0.83:
        items.update(rng.choice(_INVALID))
    elif chance < 0.88:
        items[misspelled(rng)] = '4'
    if rng.random() < 0.25:
        items[_MODE] = rng.choice(_MODES)
    if rng.random() < 0.2:
        items[_MAP] = rng.choice((*_TRUE, *_FALSE))
    elif rng.random() < 0.15:
        items[_FEATURES] = rng.choice(_SETS)
    return items


def one(rng: random.Random) -> tuple[str, str]:
    """Draw a key and a value, valid or not, for an existing volume."""
    if rng.random() < 0.25:
        return misspelled(rng), '4'
    key = rng.choice((*kinds.ALL, _MODE, _MODE, 'rbd:unknown'))
    values = {_MODE: (*_MODES, 'fast'), _MAP: (*_TRUE, *_FALSE, '')}
    return key, rng.choice(values.get(key, ('1M', '4', 'layering')))


def misspelled(rng: random.Random) -> str:
    """Return a spelling of a key that MariaDB considers equal."""
    key = rng.choice(kinds.ALL)
    return rng.choice(
        (
            key.upper(),
            key.replace('rbd', 'RBD'),
            key.title(),
            f'{key} ',
            key.replace('rbd', '\uff52\uff42\uff44'),
        )
    )


def is_misspelled(key: str) -> bool:
    """Return whether a key is a misspelled ``rbd:`` key."""
    folded = unicodedata.normalize('NFKC', key).casefold().strip()
    return folded != key and folded.startswith('rbd:')


def ours(items: dict[str, str]) -> Keys:
    """Return the items whose keys begin with ``rbd:``."""
    return {k: v for k, v in items.items() if k.startswith('rbd:')}


def as_size(text: str) -> int:
    """Return a size in bytes."""
    return _SIZES[text]


def is_true(text: str) -> bool:
    """Return whether the text of a boolean is true."""
    return text in _TRUE


def pair(items: Keys) -> tuple[int, int] | None:
    """Return the stripe unit and stripe count; None if unset."""
    if _UNIT in items and _COUNT in items:
        return _SIZES[items[_UNIT]], _COUNTS[items[_COUNT]]
    return None


def judge(
    items: Keys, kind: kinds.Kind, size: int, from_source: bool = False
) -> Verdict:
    """Return the expected result of a request for a volume.

    :param items: metadata of the volume
    :param size: size in GiB
    :param from_source: whether the volume can inherit a layout
    """
    if not kind.public or any(is_misspelled(key) for key in items):
        return Verdict.REFUSED
    items = ours(items)
    if not kind.ours:
        return Verdict.REFUSED if items else Verdict.ACCEPTED
    if not _is_valid(items):
        return Verdict.REFUSED
    verdicts = {
        _fits(items, kind, kinds.BACKENDS[name], size, from_source)
        for name in kind.backends
    }
    return verdicts.pop() if len(verdicts) == 1 else Verdict.EITHER


def _is_valid(items: Keys) -> bool:
    """Return whether keys are valid, whatever the type and back end."""
    if items.keys() - set(kinds.ALL) or (_UNIT in items) != (_COUNT in items):
        return False
    for key, values in (
        (_SIZE, _SIZES),
        (_UNIT, _SIZES),
        (_COUNT, _COUNTS),
        (_MAP, (*_TRUE, *_FALSE)),
        (_FEATURES, _SETS),
        (_MODE, _MODES),
    ):
        if items.get(key, next(iter(values))) not in values:
            return False
    if _FEATURES in items and _MAP in items:
        has = features.OBJECT_MAP in items[_FEATURES].split(',')
        return has is is_true(items[_MAP])
    return True


def _fits(
    items: Keys,
    kind: kinds.Kind,
    backend: kinds.Backend,
    size: int,
    from_source: bool,
) -> Verdict:
    """Return the verdict on valid keys with a type on a back end."""
    if items.keys() - set(kind.tenant_options(backend)):
        return Verdict.REFUSED
    merged = {**kind.own, **items}
    if merged.get(_MODE, 'none') not in backend.cache_modes:
        return Verdict.REFUSED
    if kind.multiattach and items.keys() & {_MAP, _FEATURES, _MODE}:
        # Accepted if the values are those of a multi-attach volume.
        return Verdict.EITHER
    striping = pair(items) or pair(kind.own)
    if striping is None:
        # An inherited stripe unit may exceed the object size.
        smaller = from_source and _SIZE in merged
        return Verdict.EITHER if smaller else Verdict.ACCEPTED
    unit, count = striping
    if count > backend.max_count:
        return Verdict.REFUSED
    if unit > as_size(merged.get(_SIZE, '4M')):
        inherited = from_source and _SIZE not in merged
        return Verdict.EITHER if inherited else Verdict.REFUSED
    if from_source and _SIZE not in merged:
        return Verdict.EITHER
    if whole_stripes(striping, size) or _unstriped(merged, striping):
        return Verdict.ACCEPTED
    return Verdict.REFUSED


def _unstriped(items: Keys, striping: tuple[int, int]) -> bool:
    """Return whether a pair is that of an image without striping."""
    return striping == (as_size(items.get(_SIZE, '4M')), 1)


def whole_stripes(striping: tuple[int, int], size: int) -> bool:
    """Return whether a size in GiB is a multiple of the stripe width."""
    unit, count = striping
    return size * 2**30 % (unit * count) == 0
