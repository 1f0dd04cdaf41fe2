# SPDX-License-Identifier: Apache-2.0

"""Volume types for back ends that have none."""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_volume_options import backend_settings
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry

BACKEND_NAME = 'volume_backend_name'

Record = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class TypeAction:
    """The action for a back end.

    :ivar backend: its ``volume_backend_name``
    :ivar volume_type: the type's name
    :ivar action: ``there``, ``make``, or ``name is taken``
    :ivar specs: extra specs of the type to create
    """

    backend: str
    volume_type: str
    action: str
    specs: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_new(self) -> bool:
        """Whether a type is created."""
        return self.action == 'make'

    @property
    def is_taken(self) -> bool:
        """Whether another type has the name."""
        return self.action == 'name is taken'


def plan(pools: Iterable[Record], types: Iterable[Record]) -> list[TypeAction]:
    """Return the action for each back end.

    Existing types are not changed, whether they are linked to the back end or
    only have its name.
    """
    all_types = list(types)
    names = {each['name'] for each in all_types}
    linked: dict[str, str] = {}
    for each in sorted(all_types, key=lambda each: str(each['name'])):
        backend = (each['extra_specs'] or {}).get(BACKEND_NAME)
        # If there are several types, show the one with the back end's name.
        if backend and (backend not in linked or each['name'] == backend):
            linked[backend] = each['name']
    outcomes = []
    for backend, report in _reports(pools, of_ours=False).items():
        if backend in linked:
            outcomes.append(TypeAction(backend, linked[backend], 'there'))
        elif backend in names:
            outcomes.append(TypeAction(backend, backend, 'name is taken'))
        else:
            specs = _specs(backend, report)
            outcomes.append(TypeAction(backend, backend, 'make', specs))
    return outcomes


def _reports(
    pools: Iterable[Record], of_ours: bool = True
) -> dict[str, Record]:
    """Return the capabilities of back ends, in order.

    :param of_ours: whether only of those with our driver
    """
    reports = {
        pool['capabilities'].get(BACKEND_NAME): pool['capabilities']
        for pool in pools
        if not of_ours or _is_ours(pool['capabilities'])
    }
    return {name: reports[name] for name in sorted(filter(None, reports))}


def _is_ours(report: Record) -> bool:
    return report.get(backend_settings.CAPABILITY) is True


def plan_named(
    pools: Iterable[Record],
    types: Iterable[Record],
    name: str,
    properties: Mapping[str, str],
    backend: str | None = None,
) -> TypeAction:
    """Return the action for one type with keys that the operator gives.

    :param name: of the type
    :param properties: its extra specs with our keys
    :param backend: None for the only back end with our driver
    :raises OptionError: for an invalid key or back end
    """
    for key, value in properties.items():
        if not key.startswith(keys.PREFIX):
            raise errors.OptionError(
                '--property',
                f'{key}={value}',
                'not a key of RBD volumes',
                registry.names(keys.Scope.TYPE),
            )
    options.parse(dict(properties), keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)
    known = _reports(pools)
    if backend is None and len(known) == 1:
        (backend,) = known
    if backend is None or backend not in known:
        raise errors.OptionError(
            '--backend',
            backend,
            'not a back end with RBD volume options',
            ', '.join(known) or 'no back end of this cloud',
        )
    specs = {BACKEND_NAME: backend, **properties}
    for each in types:
        if each['name'] == name:
            same = (each['extra_specs'] or {}) == specs
            action = 'there' if same else 'name is taken'
            return TypeAction(backend, name, action, specs if same else {})
    return TypeAction(backend, name, 'make', specs)


def _specs(backend: str, report: Record) -> dict[str, str]:
    """Return extra specs that suit most volumes of a back end.

    The object map makes deletion and resizing fast. It is omitted if the
    operator has set features or the object map for the back end.
    """
    specs = {BACKEND_NAME: backend}
    if (
        _is_ours(report)
        and report.get('rbd_volume_object_map') is None
        and report.get('rbd_volume_features') is None
    ):
        specs[keys.OBJECT_MAP] = 'true'
    return specs
