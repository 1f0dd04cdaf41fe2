# SPDX-License-Identifier: Apache-2.0

"""Plans: data that describes the measurements. Plans are YAML files."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from rbd_bench import fields
from rbd_bench import workload
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

Keys = dict[str, str]


def read_variants(section: fields.Fields, key: str) -> dict[str, Keys]:
    """Return keys of volume types by the names that the plan gives them.

    :raises OptionError: for an invalid value
    """
    if key not in section:
        return {'default': {}}
    where = section.path(key)
    by_name = section.raw(key)
    if not isinstance(by_name, Mapping) or not by_name:
        raise fields.refused(
            where, by_name, 'not a mapping', 'names with keys'
        )
    return {
        fields.name(where, name): _keys(f'{where}.{name}', each)
        for name, each in by_name.items()
    }


def _keys(where: str, content: Any) -> Keys:
    if content is None:
        return {}
    names = (
        keys.OBJECT_SIZE,
        keys.STRIPE_UNIT,
        keys.STRIPE_COUNT,
        keys.OBJECT_MAP,
        keys.FEATURES,
    )
    checked = fields.Fields(where, content, names)
    wanted = {key: str(checked.raw(key)) for key in names if key in checked}
    _check(where, wanted)
    return wanted


def _check(where: str, wanted: Keys) -> None:
    """Check that librbd accepts the keys."""
    try:
        layout.check_unit(layout_of(wanted))
    except errors.OptionError as error:
        raise fields.refused(
            f'{where}.{error.key}', error.value, error.reason, error.allowed
        ) from None


def parsed_keys(wanted: Keys) -> options.VolumeOptions:
    """Return the values of keys."""
    return options.parse(wanted, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)


def layout_of(wanted: Keys) -> layout.ImageLayout:
    """Return the layout of keys."""
    parsed = parsed_keys(wanted)
    return layout.ImageLayout(
        parsed.object_size or layout.DEFAULT_OBJECT_SIZE, parsed.striping
    )


def check_together(
    section: fields.Fields,
    layouts: Mapping[str, Keys],
    image_features: Mapping[str, Keys],
) -> None:
    """Check each layout with each set of features.

    :raises OptionError: if both set a key, or their keys contradict each other
    """
    where = section.path('features')
    for one in layouts.values():
        for name, other in image_features.items():
            if both := set(one) & set(other):
                raise fields.refused(
                    where,
                    ', '.join(sorted(both)),
                    'set in layouts too',
                    'a key in one of the two',
                )
            _check(f'{where}.{name}', {**one, **other})


#: The paths to a volume: the programs that send the requests.
LIBRBD = 'librbd'
QEMU = 'qemu'
GUEST = 'guest'
DELETION = 'deletion'
PATHS = (LIBRBD, QEMU, GUEST, DELETION)

_MODES = tuple(mode.value for mode in cache_modes.CacheMode)
#: librbd only has its cache enabled or disabled. QEMU adds other modes.
_LIBRBD_MODES = ('none', 'writeback')
#: The axis of cache modes.
CACHE_MODE = 'cache_mode'
ALLOCATORS = ('libc', 'tcmalloc', 'jemalloc')
MESSENGERS = ('crc', 'secure')
#: Explanations that a published ratio may name.
EXPLANATIONS = (
    'osds',
    'cache-policy',
    'flush',
    'rate',
    'objects',
    'same-host',
)
#: Those of paths that read and write, and of the path deletion.
_OF_REQUESTS = ('osds', 'cache-policy', 'flush')
_OF_DELETION = ('objects',)
#: Bytes of an image. librbd counts with 63 bits.
_SMALLEST, _LARGEST = 2**20, 2**60


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

    :ivar path: one of :data:`PATHS`
    :ivar layouts: keys of each layout by its name; the first is the baseline
    :ivar features: the same, for image features
    :ivar axes: names and values of the other axes, baseline first
    :ivar workloads: of the paths that read and write
    """

    name: str
    path: str
    layouts: Mapping[str, Keys]
    features: Mapping[str, Keys]
    axes: Mapping[str, tuple[str, ...]]
    workloads: tuple[workload.Workload, ...] = ()

    @property
    def is_scaling(self) -> bool:
        """Whether one variant has loads that differ in requests in flight."""
        variants = (self.layouts, self.features, *self.axes.values())
        return all(len(each) == 1 for each in variants) and self.has_depths

    @property
    def has_depths(self) -> bool:
        """Whether the workloads differ only in their requests in flight."""
        kinds = {
            dataclasses.replace(each, name='', queue_depth=1, jobs=1)
            for each in self.workloads
        }
        return len(kinds) == 1 and len(self.workloads) > 1


@dataclasses.dataclass(frozen=True)
class Published:
    """A published ratio.

    :ivar ratio: how many times as fast; None if only words were published
    :ivar run: the run that measures it
    :ivar of: values of axes of the faster side
    :ivar to: values of axes of the other side
    :ivar explain: names of possible explanations of a difference
    :ivar path: the path of the published figures; empty if it is unknown
    """

    name: str
    statement: str
    ratio: float | None
    run: str
    of: Mapping[str, str]
    to: Mapping[str, str]
    explain: tuple[str, ...]
    path: str = ''


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan.

    :ivar source: where the figures were published
    """

    name: str
    title: str
    source: str
    settings: Settings
    runs: tuple[Run, ...]
    published: tuple[Published, ...]


def parse(text: str, short: bool = False) -> Plan:
    """Return the plan in a text.

    :raises OptionError: for an invalid value
    """
    top = fields.Fields(
        '',
        fields.from_yaml(text),
        ('name', 'title', 'source', 'settings', 'short', 'runs', 'published'),
    )
    settings = top.mapping('settings')
    if short:
        settings = {**settings, **top.mapping('short')}
    runs = top.each('runs', _run)
    _check_names(runs)
    by_name = {each.name: each for each in runs}
    return Plan(
        top.name('name'),
        top.text('title'),
        top.text('source'),
        read_settings('short' if short else 'settings', settings),
        runs,
        tuple(
            _published(f'published[{place}]', each, by_name)
            for place, each in enumerate(top.items('published'))
        ),
    )


def _check_names(runs: Sequence[Run]) -> None:
    """Check that the plots of each run have their own file names.

    These contain only some characters of the name.
    """
    seen: dict[str, str] = {}
    for place, each in enumerate(runs):
        start = re.sub(r'[^a-z0-9]+', '-', each.name.lower())
        reason = ''
        if start in seen:
            reason = f'duplicate name, as {seen[start]!r}'
        elif start == '-':
            reason = 'no letter from a to z and no digit'
        if reason:
            raise fields.refused(
                f'runs[{place}].name',
                each.name,
                reason,
                'names that differ in letters from a to z or digits',
            )
        seen[start] = each.name


def read_settings(where: str, content: Any) -> Settings:
    """Return settings.

    :raises OptionError: for a missing or an invalid value
    """
    section = fields.Fields(
        where, content, tuple(x.name for x in dataclasses.fields(Settings))
    )
    return Settings(
        section.number('warm_up', 0, 3600),
        section.number('runtime', 1, 86400),
        section.number('repetitions', 1, 100),
        image_size(section.path('image_size'), section.raw('image_size')),
    )


def _run(where: str, content: Any) -> Run:
    path = fields.choice(
        f'{where}.path',
        content.get('path') if isinstance(content, dict) else None,
        PATHS,
    )
    section = fields.Fields(where, content, ('name', 'path', *_KEYS[path]))
    layouts = read_variants(section, 'layouts')
    image_features = read_variants(section, 'features')
    works: tuple[workload.Workload, ...] = ()
    if path != DELETION:
        works = section.each('workloads', workload.read)
    check_together(section, layouts, image_features)
    return Run(
        section.name('name'), path, layouts, image_features,
        _axes(section, path), works,
    )  # fmt: skip


_IO_KEYS = ('layouts', 'features', 'cache_modes', 'workloads')
_CLIENT_KEYS = (*_IO_KEYS, 'allocators', 'messengers')
_KEYS = {
    LIBRBD: _CLIENT_KEYS,
    QEMU: (*_CLIENT_KEYS, 'io_threads'),
    # The compute host decides on the others.
    GUEST: _IO_KEYS,
    DELETION: ('layouts', 'features', 'sizes'),
}


def _axes(section: fields.Fields, path: str) -> dict[str, tuple[str, ...]]:
    """Return the axes other than the image's own."""

    def names(key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
        return section.each(
            key, lambda w, v: fields.choice(w, v, allowed), [allowed[0]]
        )

    if path == DELETION:
        return {'size': section.each('sizes', _size)}
    axes = {
        CACHE_MODE: names(
            'cache_modes', _LIBRBD_MODES if path == LIBRBD else _MODES
        )
    }
    if path == GUEST:
        return axes
    if path == QEMU:
        axes['io_thread'] = names('io_threads', ('off', 'on'))
    axes['allocator'] = names('allocators', ALLOCATORS)
    axes['messenger'] = names('messengers', MESSENGERS)
    return axes


def _size(where: str, content: Any) -> str:
    image_size(where, content)
    return str(content)


def image_size(where: str, content: Any) -> int:
    """Return the size of an image in bytes.

    :raises OptionError: if it is not a size, or out of range
    """
    number = fields.size(where, content)
    if not _SMALLEST <= number <= _LARGEST:
        raise fields.refused(
            where, content, 'out of range', 'a size from 1M to 1048576T'
        )
    return number


def _published(where: str, content: Any, runs: Mapping[str, Run]) -> Published:
    names = tuple(each.name for each in dataclasses.fields(Published))
    section = fields.Fields(where, content, names)
    ratio = section.raw('ratio')
    if ratio is not None and (
        isinstance(ratio, bool)
        or not isinstance(ratio, int | float)
        or not 0 < ratio < float('inf')
    ):
        raise fields.refused(
            section.path('ratio'), ratio, 'not a ratio', 'a number above 0'
        )
    run = runs[section.choice('run', tuple(runs))]
    others = _OF_REQUESTS if run.path == DELETION else _OF_DELETION
    allowed = [each for each in EXPLANATIONS if each not in others]
    return Published(
        section.name('name'),
        section.text('statement'),
        ratio,
        run.name,
        _side(section.path('of'), section.raw('of'), run),
        _side(section.path('to'), section.raw('to'), run),
        section.each('explain', lambda w, v: fields.choice(w, v, allowed)),
        section.choice('path', PATHS) if 'path' in section else '',
    )


def values(run: Run) -> dict[str, tuple[str, ...]]:
    """Return all axes of a run with their values, baseline first."""
    by_name = {
        'layout': tuple(run.layouts),
        'features': tuple(run.features),
        **run.axes,
    }
    if run.workloads:
        by_name['workload'] = tuple(each.name for each in run.workloads)
    return by_name


def _side(where: str, content: Any, run: Run) -> dict[str, str]:
    axes = values(run)
    section = fields.Fields(where, content, tuple(axes))
    return {
        axis: section.choice(axis, allowed)
        for axis, allowed in axes.items()
        if axis in section
    }
