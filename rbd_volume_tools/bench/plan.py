# SPDX-License-Identifier: Apache-2.0

"""Plans: YAML files that describe measurements, see ``plan.schema.yaml``."""

from collections.abc import Mapping
import dataclasses
import importlib.resources
import math
import pathlib
from typing import Any

import jsonschema
import yaml

from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options
from rbd_volume_options import sizes
from rbd_volume_tools.command_line import whole_file

Keys = dict[str, str]

#: The paths to a volume: the programs that send the requests.
LIBRBD = 'librbd'
KRBD = 'krbd'
QEMU = 'qemu'
GUEST = 'guest'
DELETION = 'deletion'
#: Axes, whose values the lists of a run name.
CACHE_MODE = 'cache_mode'
CACHE_POLICY = 'cache_policy'
_CLIENT = (CACHE_MODE, CACHE_POLICY, 'allocator', 'messenger')
_AXES = {
    LIBRBD: _CLIENT,
    KRBD: (),
    QEMU: (*_CLIENT, 'io_thread'),
    # The compute host decides on the others.
    GUEST: (CACHE_MODE, CACHE_POLICY),
    DELETION: ('size',),
}
_LISTS = {CACHE_POLICY: 'cache_policies'}
_DEFAULTS = {
    CACHE_MODE: 'none',
    CACHE_POLICY: 'writearound',
    'allocator': 'libc',
    'messenger': 'crc',
    'io_thread': 'off',
}
_SUFFIX = '.yaml'
_SCHEMA = 'plan.schema.yaml'


@dataclasses.dataclass(frozen=True)
class Workload:
    """Requests of one kind, with the names of the schema."""

    name: str
    pattern: str
    block_size: int
    queue_depth: int = 1
    read_percent: int = 50
    flush_every: int = 0
    jobs: int = 1

    @property
    def in_flight(self) -> int:
        """The requests in flight of all jobs."""
        return self.queue_depth * self.jobs


@dataclasses.dataclass(frozen=True)
class Settings:
    """The duration and the number of the measurements.

    :ivar warm_up: seconds before a measurement, which are not part of it
    :ivar runtime: seconds of a measurement
    :ivar repetitions: measurements of each combination
    :ivar image_size: bytes of an image that is read and written
    """

    warm_up: int
    runtime: int
    repetitions: int
    image_size: int


@dataclasses.dataclass(frozen=True)
class Run:
    """Combinations of one kind.

    :ivar layouts: keys of each layout by its name; the first is the baseline
    :ivar features: the same, for image features
    :ivar axes: names and values of the other axes, baseline first
    """

    name: str
    path: str
    layouts: Mapping[str, Keys]
    features: Mapping[str, Keys]
    axes: Mapping[str, tuple[str, ...]]
    workloads: tuple[Workload, ...] = ()

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """All axes with their values, baseline first."""
        by_name = {
            'layout': tuple(self.layouts),
            'features': tuple(self.features),
            **self.axes,
        }
        if self.workloads:
            by_name['workload'] = tuple(x.name for x in self.workloads)
        return by_name

    @property
    def is_scaling(self) -> bool:
        """Whether the loads of one variant differ in requests in flight."""
        kinds = {
            dataclasses.replace(x, name='', queue_depth=1, jobs=1)
            for x in self.workloads
        }
        variants = (self.layouts, self.features, *self.axes.values())
        return len(kinds) == 1 < len(self.workloads) and all(
            len(values) == 1 for values in variants
        )


@dataclasses.dataclass(frozen=True)
class Published:
    """A published ratio, with the names of the schema."""

    name: str
    statement: str
    ratio: float | None
    run: str
    of: Mapping[str, str]
    to: Mapping[str, str]
    path: str = 'unknown'


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan.

    :ivar document: its content, as results store it
    """

    name: str
    title: str
    source: str
    settings: Settings
    runs: tuple[Run, ...]
    published: tuple[Published, ...]
    document: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


def names() -> list[str]:
    """Return the names of the plans that are part of the package."""
    return sorted(
        file.name.removesuffix(_SUFFIX) for file in _folder().iterdir()
    )


def _folder() -> Any:
    return importlib.resources.files(__package__).joinpath('plans')


def load(
    name: str, short: bool = False, settings: Mapping[str, Any] | None = None
) -> Plan:
    """Return a plan.

    :param name: name of a plan of the package, or path of a file
    :param short: whether to use the plan's settings for a short run
    :param settings: replace those of the plan
    :raises OptionError: if there is no such plan, or for an invalid value
    """
    path = pathlib.Path(name)
    if name in names():
        text = _folder().joinpath(name + _SUFFIX).read_text()
    elif path.suffix == _SUFFIX and path.is_file():
        text = whole_file.read(path)
    else:
        raise errors.OptionError(
            'PLAN',
            name,
            'no such plan',
            f'{", ".join(names())}, or the path of a {_SUFFIX} file',
        )
    return parse(from_yaml(text), short, settings)


def from_yaml(text: str) -> Any:
    """Return the content of a plan.

    :raises OptionError: if it is not YAML
    """
    try:
        return yaml.safe_load(text)
    # Values such as 2026-13-01 and `!!bool a` raise errors of Python.
    except (
        *(yaml.YAMLError, ValueError, LookupError),
        *(AttributeError, RecursionError),
    ) as error:
        raise errors.OptionError(
            'PLAN', str(error), 'not YAML', 'YAML'
        ) from None


def parse(
    document: Any,
    short: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Plan:
    """Return the plan of a document.

    :raises OptionError: for an invalid value
    """
    validate(document, _SCHEMA)
    chosen = {
        **document['settings'],
        **(document.get('short', {}) if short else {}),
        **(settings or {}),
    }
    document = {**document, 'settings': chosen}
    document.pop('short', None)
    validate(document, _SCHEMA)
    runs = tuple(
        _run(f'runs[{place}]', run)
        for place, run in enumerate(document['runs'])
    )
    by_name = {run.name: run for run in runs}
    if len(by_name) < len(runs):
        raise errors.OptionError(
            'runs', ', '.join(by_name), 'duplicate name', 'names that differ'
        )
    published = tuple(
        Published(**content) for content in document.get('published', ())
    )
    for each in published:
        _check_published(each, by_name)
    size = {'image_size': _size('settings.image_size', chosen['image_size'])}
    return Plan(
        document['name'],
        document['title'],
        document['source'],
        Settings(**{**chosen, **size}),
        runs,
        published,
        document,
    )


def validate(document: Any, schema: str) -> None:
    """Check a document with a schema of this folder.

    :raises OptionError: for an invalid value
    """
    text = importlib.resources.files(__package__).joinpath(schema).read_text()
    validator = jsonschema.Draft202012Validator(yaml.safe_load(text))
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if error is not None:
        allowed = f'{error.validator}: {error.validator_value}'
        if isinstance(error.schema, dict):
            allowed = error.schema.get('description', allowed)
        raise errors.OptionError(
            error.json_path.removeprefix('$.'),
            error.instance,
            error.message[:200],
            allowed[:200],
        )


def _run(where: str, content: Mapping[str, Any]) -> Run:
    layouts = _variants(content.get('layouts'))
    features = _variants(content.get('features'))
    for layout_name, one in layouts.items():
        for features_name, other in features.items():
            _check_keys(
                f'{where} ({layout_name}, {features_name})',
                {**one, **other},
                set(one) & set(other),
            )
    path = content['path']
    axes = {}
    for axis in _AXES[path]:
        values = content.get(_LISTS.get(axis, f'{axis}s'))
        if values is None:
            values = [_DEFAULTS[axis]]
        axes[axis] = tuple(map(str, values))
    for value in axes.get('size', ()):
        _size(f'{where}.sizes', value)
    works = tuple(
        Workload(**{**work, 'block_size': _block(where, work['block_size'])})
        for work in content.get('workloads', ())
    )
    if len({work.name for work in works}) < len(works):
        raise errors.OptionError(
            f'{where}.workloads',
            ', '.join(work.name for work in works),
            'duplicate name',
            'names that differ',
        )
    return Run(content['name'], path, layouts, features, axes, works)


def _variants(content: Mapping[str, Any] | None) -> dict[str, Keys]:
    if content is None:
        return {'default': {}}
    return {
        name: {key: str(value) for key, value in wanted.items()}
        for name, wanted in content.items()
    }


def _check_keys(where: str, wanted: Keys, duplicates: set[str]) -> None:
    """Check that librbd accepts the keys of a layout and of features."""
    if duplicates:
        raise errors.OptionError(
            where,
            ', '.join(sorted(duplicates)),
            'set in layouts and in features',
            'a key in one of the two',
        )
    try:
        layout.check_unit(layout_of(wanted))
    except errors.OptionError as error:
        raise errors.OptionError(
            f'{where}.{error.key}', error.value, error.reason, error.allowed
        ) from None


def parsed_keys(wanted: Keys) -> options.Values:
    """Return the values of keys."""
    return options.parse(wanted, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)


def layout_of(wanted: Keys) -> layout.ImageLayout:
    """Return the layout of keys."""
    base = layout.ImageLayout(layout.DEFAULT_OBJECT_SIZE)
    return parsed_keys(wanted).layout_over(base)


def _size(where: str, value: str | int) -> int:
    size = sizes.parse_size(where, value)
    if not sizes.MIB <= size <= 1 << 60:
        raise errors.OptionError(
            where, value, 'out of range', 'a size from 1M to 1073741824G'
        )
    return size


def _block(where: str, value: str | int) -> int:
    size = sizes.parse_size(f'{where}.block_size', value)
    if not 512 <= size <= 64 * sizes.MIB or size % 512:
        raise errors.OptionError(
            f'{where}.block_size',
            value,
            'out of range',
            'a multiple of 512 bytes, up to 64M',
        )
    return size


def _check_published(published: Published, runs: Mapping[str, Run]) -> None:
    where = f'published ({published.name})'
    if published.run not in runs:
        raise errors.OptionError(
            f'{where}.run', published.run, 'no such run', ', '.join(runs)
        )
    if published.ratio is not None and not math.isfinite(published.ratio):
        raise errors.OptionError(
            f'{where}.ratio', published.ratio, 'not a ratio', 'a number'
        )
    axes = runs[published.run].values
    for axis, value in (*published.of.items(), *published.to.items()):
        if value not in axes.get(axis, ()):
            raise errors.OptionError(
                f'{where}.{axis}',
                value,
                'not a value of the run',
                ', '.join(axes.get(axis, axes)),
            )
