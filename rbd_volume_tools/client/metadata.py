# SPDX-License-Identifier: Apache-2.0

"""Arguments with the metadata of a volume, and their checks."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
import difflib
import sys
from typing import Any
from typing import NoReturn

from osc_lib import exceptions

from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import registry
from rbd_volume_tools.command_line import printable

_METAVARS = {
    definitions.ValueType.SIZE: '<size>',
    definitions.ValueType.COUNT: '<count>',
    definitions.ValueType.FEATURES: '<name,...>',
    definitions.ValueType.WORD: '<word>',
}


def short_errors(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Have a parser name the error without the usage of dozens of options."""

    def error(message: str) -> NoReturn:
        sys.stderr.write(f'{printable.text(message)}\n')
        sys.stderr.write(f'Help: {parser.prog} --help\n')
        raise SystemExit(2)

    # A method that argparse documents for this.
    parser.error = error  # type: ignore[method-assign]
    return parser


def add_options(
    parser: argparse.ArgumentParser, options: Iterable[definitions.Option]
) -> None:
    """Add an argument for each option, and --property for any name."""
    for option in options:
        kind = option.value_type
        how: dict[str, Any] = {'help': option.sentence, 'dest': option.key}
        if kind is definitions.ValueType.BOOLEAN:
            how['action'] = argparse.BooleanOptionalAction
        else:
            how['type'] = _checked(option)
            if option.choices:
                how['choices'] = list(option.choices)
            else:
                how['metavar'] = _METAVARS[kind]
        parser.add_argument(f'--{option.name.replace("_", "-")}', **how)
    parser.add_argument(
        '--property',
        metavar='<key>=<value>',
        action='append',
        default=[],
        help='Metadata of the volume; repeat the option for several keys',
    )
    parser.add_argument(
        '--allow-any-property',
        action='store_true',
        help=f'Accept names that lack the prefix {keys.PREFIX}',
    )


def _checked(option: definitions.Option) -> Callable[[str], str]:
    """Return an argument's type that checks a value and keeps its text.

    A value of a list, such as a size, gets its spelling there.
    """

    def value(text: str) -> str:
        try:
            parsed = option.parse(text)
        except errors.OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return definitions.as_text(parsed) if option.choices else text

    return value


def requested(parsed_args: argparse.Namespace) -> dict[str, str]:
    """Return the metadata of the arguments.

    :raises CommandError: for an unknown or invalid key
    """
    metadata = {}
    for word in parsed_args.property:
        name, equals, value = word.partition('=')
        if not (name and equals):
            raise exceptions.CommandError(
                f'--property {printable.text(word)}: allowed: <key>=<value>'
            )
        metadata[key(name, parsed_args.allow_any_property)] = value
    for name, value in vars(parsed_args).items():
        if name.startswith(keys.PREFIX) and value is not None:
            text = str(value)
            metadata[name] = text.lower() if isinstance(value, bool) else text
    for name, text in metadata.items():
        if name.startswith(keys.PREFIX):
            try:
                registry.OPTIONS[name].parse(text)
            except errors.OptionError as error:
                raise exceptions.CommandError(str(error)) from error
    return metadata


def key(name: str, allows_any: bool = False) -> str:
    """Return a key of metadata, if it is none that was misspelled.

    :raises CommandError: for an unknown key, or one without its prefix
    """
    known = registry.volume_keys()
    shown = printable.text(name)
    if name in known:
        return name
    if name.startswith(keys.PREFIX):
        raise exceptions.CommandError(
            f'{shown}: no such key.{meant(name, known)}'
        )
    if f'{keys.PREFIX}{name}' in known and not allows_any:
        raise exceptions.CommandError(
            f'{shown} has no effect without its prefix: use '
            f'{keys.PREFIX}{shown}. --allow-any-property sets {shown}.'
        )
    return name


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question about the keys that are most like a name."""
    near = difflib.get_close_matches(name, known, 2, 0.88)
    if near:
        return f' Did you mean {" or ".join(near)}?'
    return ' Show the keys: openstack volume rbd options <type>'
