# SPDX-License-Identifier: Apache-2.0

"""``cinder-rbd-ext types ensure``: creates volume types that are missing."""

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
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


class EnsureTypes(exit_status.StatusLister):
    """Create a volume type for each back end that has none.

    Back ends of all drivers get one, as far as the scheduler has their report.
    With ``--name``, create one volume type with the given keys instead; with
    ``--file``, those of a file.
    Existing volume types are never changed or deleted. The exit status is 1 if
    another type has the name, or a type of ``--name`` or ``--file`` exists
    with other keys, and 2 if a type could not be created.
    """

    creates = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            '--name',
            metavar='<name>',
            help='Name of the only volume type to create',
        )
        parser.add_argument(
            '--property',
            metavar='<key>=<value>',
            action='append',
            default=[],
            help='Key of the volume type of --name, such as '
            'rbd:stripe_unit=64K; repeat the option for several keys',
        )
        parser.add_argument(
            '--backend',
            metavar='<name>',
            help='volume_backend_name of the back end of --name (default: the '
            'only back end with RBD volume options)',
        )
        parser.add_argument(
            '--file',
            metavar='<path>',
            help='YAML file with volume types: the keys of each by its name, '
            'and volume_backend_name if it is not that of --backend',
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
        outcomes = _outcomes(parsed_args, pools, answers.volume_types(api))
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


def _outcomes(
    parsed_args: argparse.Namespace, pools: Any, types: Any
) -> list[TypeAction]:
    """Return the actions for all back ends, or for one type.

    :raises CommandError: for an invalid value
    :raises ValueError: for options that do not belong together
    """
    if parsed_args.file and (parsed_args.name or parsed_args.property):
        raise ValueError(
            '--file replaces --name and --property; set one of them.'
        )
    named = {}
    if parsed_args.file:
        named = _types_in(parsed_args.file)
    elif parsed_args.name is not None:
        named = {parsed_args.name: _properties(parsed_args.property)}
    elif parsed_args.property or parsed_args.backend:
        raise ValueError('--property and --backend need --name or --file.')
    else:
        return plan(pools, types)
    try:
        return [
            plan_named(
                pools,
                types,
                name,
                {k: v for k, v in specs.items() if k != BACKEND_NAME},
                specs.get(BACKEND_NAME, parsed_args.backend),
            )
            for name, specs in named.items()
        ]
    except errors.OptionError as error:
        raise exceptions.CommandError(printable.text(str(error))) from error


def _properties(words: Sequence[str]) -> dict[str, str]:
    properties = {}
    for word in words:
        key, equals, value = word.partition('=')
        if not equals:
            raise ValueError(
                f'--property {printable.text(word)}: no value; allowed: '
                '<key>=<value>'
            )
        properties[key] = value
    return properties


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
