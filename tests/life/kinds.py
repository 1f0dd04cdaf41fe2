# SPDX-License-Identifier: Apache-2.0

"""Volume types and back ends, and what each of them allows.

Defined independently of the code under test.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools

ALL = (
    *('rbd:object_size', 'rbd:stripe_unit', 'rbd:stripe_count'),
    *('rbd:object_map', 'rbd:features', 'rbd:cache_mode'),
)
_TENANTS = 'rbd:tenant_options'
_POOL = 'rbd:data_pool'
_SAFE = ('none', 'writethrough', 'writeback', 'directsync')


@dataclasses.dataclass(frozen=True)
class Backend:
    """A back end in the ``cinder.conf`` of the sandbox."""

    name: str
    pool: str
    data_pool: str | None
    max_count: int
    tenant_options: tuple[str, ...]
    cache_modes: tuple[str, ...]
    strict: bool
    #: Whether it uses our driver; the stock driver ignores keys.
    ours: bool = True

    @property
    def host(self) -> str:
        """The name of its pool in Cinder."""
        return f'sandbox@{self.name}#{self.name}'


BACKENDS = {
    each.name: each
    for each in (
        Backend('rbd', 'volumes', None, 64, ALL, _SAFE, True),
        Backend(
            'rbd2',
            'volumes2',
            'volumes-data',
            4,
            ('rbd:cache_mode',),
            (*_SAFE, 'unsafe'),
            False,
        ),
        Backend('stock', 'volumes2', None, 1, (), (), False, ours=False),
    )
}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A volume type of the run.

    :ivar backends: the possible back ends; empty if the type is not on RBD
    :ivar specs: its ``rbd:`` extra specs
    :ivar public: whether tenants see it
    """

    name: str
    backends: tuple[str, ...] = ('rbd',)
    specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    multiattach: bool = False
    public: bool = True

    # A mapping cannot be hashed; names are unique.
    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def on_ceph(self) -> bool:
        """Whether its volumes are RBD images."""
        return bool(self.backends)

    @property
    def ours(self) -> bool:
        """Whether its volumes are on back ends with our driver."""
        return any(BACKENDS[name].ours for name in self.backends)

    @property
    def own(self) -> dict[str, str]:
        """The keys that it sets for its volumes."""
        return {k: v for k, v in self.specs.items() if k in ALL}

    def extra_specs(self) -> dict[str, str]:
        """Return all of its extra specs."""
        names = self.backends or ('fake',)
        either = ' '.join(f'<or> {name}' for name in names)
        specs = dict(self.specs)
        specs['volume_backend_name'] = names[0] if len(names) == 1 else either
        if self.multiattach:
            specs['multiattach'] = '<is> True'
        return specs

    def tenant_options(self, backend: Backend) -> tuple[str, ...]:
        """Return the keys that tenants may set on a back end."""
        if _TENANTS in self.specs:
            return tuple(filter(None, self.specs[_TENANTS].split(',')))
        return backend.tenant_options

    def data_pool(self, backend: Backend) -> str | None:
        """Return the data pool on a back end."""
        return self.specs.get(_POOL, backend.data_pool)


_EVERY = ','.join(ALL)
_STRIPED = {
    'rbd:object_size': '1M',
    'rbd:stripe_unit': '64K',
    'rbd:stripe_count': '8',
}
_THIRDS = {'rbd:stripe_unit': '1M', 'rbd:stripe_count': '3'}

_KINDS = (
    Kind('plain'),
    Kind('none', specs={_TENANTS: ''}),
    Kind('some', specs={_TENANTS: 'rbd:object_size,rbd:object_map'}),
    Kind('striped', specs={**_STRIPED, _TENANTS: ''}),
    Kind('striped-open', specs=_STRIPED),
    Kind('thirds', specs=_THIRDS),
    Kind('mapless', specs={'rbd:features': 'layering'}),
    Kind('mapped', specs={'rbd:object_map': 'true', _TENANTS: ''}),
    Kind('pool', specs={_POOL: 'volumes-data'}),
    Kind('cached', specs={'rbd:cache_mode': 'writeback'}),
    Kind('second', ('rbd2',)),
    Kind('second-open', ('rbd2',), {_TENANTS: _EVERY}),
    Kind('either', ('rbd', 'rbd2'), {_TENANTS: _EVERY}),
    Kind('shared', multiattach=True),
    Kind('stock', ('stock',)),
    Kind('fake', ()),
    Kind(
        'private',
        specs={
            _POOL: 'volumes-data',
            'rbd:stripe_unit': '16K',
            'rbd:stripe_count': '7',
        },
        public=False,
    ),
)


@functools.cache
def by_name() -> dict[str, Kind]:
    """Return the volume types of a run by name."""
    return {each.name: each for each in _KINDS}


def public() -> list[Kind]:
    """Return the public volume types."""
    return [each for each in _KINDS if each.public]
