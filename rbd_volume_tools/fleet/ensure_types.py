# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext types ensure``: creates volume types that are missing."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import pathlib
from typing import Any

from osc_lib import exceptions
import yaml

from rbd_volume_options import backend_settings
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry
from rbd_volume_tools.command_line import answers
from rbd_volume_tools.command_line import exit_status
from rbd_volume_tools.command_line import printable
from rbd_volume_tools.command_line import whole_file

_DESCRIPTION = 'Created by cinder-rbd-ext types ensure'
BACKEND_NAME = 'volume_backend_name'
#: Actions of the result.
THERE, MAKE, TAKEN = 'there', 'make', 'name is taken'


@dataclasses.dataclass(frozen=True)
class TypeAction:
    """The action for a back end.

    :ivar backend: its ``volume_backend_name``
    :ivar volume_type: the type's name
    :ivar specs: extra specs of the type to create
    """

    backend: str
    volume_type: str
    action: str
    specs: dict[str, str] = dataclasses.field(default_factory=dict)


def plan(
    pools: Iterable[answers.Record], types: Iterable[answers.Record]
) -> list[TypeAction]:
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
            outcomes.append(TypeAction(backend, linked[backend], THERE))
        elif backend in names:
            outcomes.append(TypeAction(backend, backend, TAKEN))
        else:
            specs = _specs(backend, report)
            outcomes.append(TypeAction(backend, backend, MAKE, specs))
    return outcomes


def _reports(
    pools: Iterable[answers.Record], of_ours: bool = True
) -> dict[str, answers.Record]:
    """Return the capabilities of back ends, in order.

    :param of_ours: whether only of those with our driver
    """
    reports = {
        pool['capabilities'].get(BACKEND_NAME): pool['capabilities']
        for pool in pools
        if not of_ours or _is_ours(pool['capabilities'])
    }
    return {name: reports[name] for name in sorted(filter(None, reports))}


def _is_ours(report: answers.Record) -> bool:
    return report.get(backend_settings.CAPABILITY) is True


def plan_named(
    pools: Iterable[answers.Record],
    types: Iterable[answers.Record],
    name: str,
    content: Mapping[str, str],
) -> TypeAction:
    """Return the action for one type of a file.

    :param name: of the type
    :param content: its keys, and ``volume_backend_name``, by default that of
        the only back end with our driver
    :raises OptionError: for an invalid key or back end
    """
    known = _reports(pools)
    backend = content.get(BACKEND_NAME)
    if backend is None and len(known) == 1:
        (backend,) = known
    if backend is None or backend not in known:
        raise errors.OptionError(
            f'{name}: {BACKEND_NAME}',
            backend,
            'not a back end with RBD volume options',
            ', '.join(known) or 'no back end of this cloud',
        )
    specs = {**content, BACKEND_NAME: backend}
    for key, value in specs.items():
        if key != BACKEND_NAME and not key.startswith(keys.PREFIX):
            raise errors.OptionError(
                f'{name}: {key}',
                value,
                'not a key of RBD volumes',
                registry.names(keys.Scope.TYPE),
            )
    options.parse(specs, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)
    for each in types:
        if each['name'] == name:
            same = (each['extra_specs'] or {}) == specs
            action = THERE if same else TAKEN
            return TypeAction(backend, name, action, specs if same else {})
    return TypeAction(backend, name, MAKE, specs)


def _specs(backend: str, report: answers.Record) -> dict[str, str]:
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


def plan_file(pools: Any, types: Any, path: str) -> list[TypeAction]:
    """Return the actions for the volume types of a file.

    :raises CommandError: for an invalid value
    :raises ValueError: if the file cannot be read
    """
    try:
        return [
            plan_named(pools, types, name, content)
            for name, content in _types_in(path).items()
        ]
    except errors.OptionError as error:
        raise exceptions.CommandError(printable.text(str(error))) from error


class EnsureTypes(exit_status.StatusLister):
    """Create a volume type for each back end that has none.

    Back ends of all drivers get one, as far as the scheduler has their report.
    With ``--file``, create the volume types of a file instead.
    Existing volume types are never changed or deleted. The exit status is 1 if
    another type has the name, or a type of ``--file`` exists with other keys,
    and 2 if a type could not be created.
    """

    creates = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--file',
            metavar='<path>',
            help='YAML file with volume types: the keys of each by its name, '
            'and volume_backend_name (default: the only back end with RBD '
            'volume options)',
        )
        return parser

    def headers(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        return ('Back end', 'Volume type', 'Action', 'Extra specs')

    def take_action(self, parsed_args: argparse.Namespace) -> exit_status.Rows:
        shell: Any = self.app
        api = shell.block_storage()
        pools = answers.record(
            api.get('/scheduler-stats/get_pools?detail=True')
        )['pools']
        types = answers.volume_types(api)
        outcomes = (
            plan_file(pools, types, parsed_args.file)
            if parsed_args.file
            else plan(pools, types)
        )
        if any(each.action == TAKEN for each in outcomes):
            self.status = exit_status.ATTENTION
        for index, each in enumerate(outcomes):
            if each.action == MAKE and self.creates:
                body = {
                    'name': each.volume_type,
                    'description': _DESCRIPTION,
                    'extra_specs': each.specs,
                }
                try:
                    answers.record(
                        api.post('/types', json={'volume_type': body})
                    )
                except exceptions.CommandError as error:
                    # The others exist or can be created: show all of them.
                    action = f'failed: {error}'
                    outcomes[index] = dataclasses.replace(each, action=action)
                    self.status = exit_status.FAILED
        return self.headers(parsed_args), [
            (each.backend, each.volume_type, each.action, each.specs)
            for each in outcomes
        ]


class MissingTypes(EnsureTypes):
    """Show the volume types that ``types ensure`` would create.

    Nothing is changed.
    """

    creates = False


class _Texts(yaml.SafeLoader):
    """Load all values as texts: ``off`` of rbd:detect_zeroes is no boolean.

    Only merge keys (``<<``) have a meaning.
    """

    yaml_implicit_resolvers = {
        '<': yaml.SafeLoader.yaml_implicit_resolvers['<']
    }


def _types_in(path: str) -> dict[str, dict[str, str]]:
    """Return the extra specs of the volume types in a file, by name.

    :raises CommandError: for another content
    :raises ValueError: if the file cannot be read
    """
    text = whole_file.read(pathlib.Path(path))
    try:
        # It constructs no objects, as safe_load.
        content = yaml.load(text, _Texts)  # noqa: S506
        return {
            str(name): {
                str(key): definitions.as_text(value)
                for key, value in specs.items()
            }
            for name, specs in content.items()
        }
    # `!!bool a` and others raise errors of Python.
    except (
        *(yaml.YAMLError, ValueError, LookupError),
        *(AttributeError, RecursionError),
    ) as error:
        raise exceptions.CommandError(
            f'{printable.text(path)}: {printable.text(str(error))}; allowed: '
            'names of volume types, each with its keys and values'
        ) from error
