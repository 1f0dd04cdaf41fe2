#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.


"""Compares published ratios with measured ones and explains differences."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import math
from typing import Any

from cinder_rbd_ext.bench import fields
from cinder_rbd_ext.bench import matrix
from cinder_rbd_ext.bench import plan
from cinder_rbd_ext.bench import results
from cinder_rbd_ext.bench import steady
from cinder_rbd_ext.bench import striping
from cinder_rbd_ext.bench import table_rows
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import options

REPRODUCED = 'reproduced'
WEAKER = 'same direction, smaller'
NO_DIFFERENCE = 'no difference'
OPPOSITE = 'opposite'
NOT_MEASURED = 'not measured'
NO_FIGURE = 'no figure was published'
#: The part of a published gain, on a log scale, that counts as reproduced.
_ENOUGH = 0.5
#: A smaller difference between ratios of single measurements does not count.
_NOISE = 1.05


@dataclasses.dataclass(frozen=True)
class Side:
    """A combination of a published ratio, and its measurements."""

    cell: matrix.Cell
    spread: steady.Spread | None
    detail: Mapping[str, float]
    error: str


@dataclasses.dataclass(frozen=True)
class Compared:
    """A published ratio and the measured one.

    :ivar ratio: the measured ratio; None if it was not measured
    :ivar reasons: sentences that explain the measured ratio
    :ivar cells: the two combinations
    """

    published: plan.Published
    ratio: float | None
    verdict: str
    reasons: tuple[str, ...]
    cells: tuple[matrix.Cell, matrix.Cell]


def compare(given: plan.Plan, found: results.Results) -> list[Compared]:
    """Return each published ratio of a plan with the measured one."""
    return [_compare(given, found, each) for each in given.published]


def _compare(
    given: plan.Plan, found: results.Results, each: plan.Published
) -> Compared:
    of, to = (
        _side(given, found, each.run, values) for values in (each.of, each.to)
    )
    if not of.spread or not to.spread:
        reasons = [x.error for x in (of, to) if x.error]
        return Compared(
            each,
            None,
            NOT_MEASURED,
            tuple(dict.fromkeys(reasons)) or ('It was not selected.',),
            (of.cell, to.cell),
        )
    ratio = of.spread.median / to.spread.median
    explained = (_EXPLAIN[name](of, to, found) for name in each.explain)
    reasons = [reason for reason in explained if reason]
    if min(of.spread.count, to.spread.count) < 2:
        reasons.append('Single measurements: the ratio may be due to chance.')
    return Compared(
        each,
        ratio,
        verdict(each.ratio, of.spread, to.spread),
        tuple(reasons),
        (of.cell, to.cell),
    )


def _side(
    given: plan.Plan,
    found: results.Results,
    run: str,
    values: Mapping[str, str],
) -> Side:
    """Return the first combination that has some values, and its samples."""
    cell = next(
        cell
        for cell in matrix.cells(given)
        if cell.run.name == run
        and all(cell.values[x] == y for x, y in values.items())
    )
    samples = [x for x in found.samples if x.cell == cell.ident]
    good = [x for x in samples if not x.error]
    return Side(
        cell,
        table_rows.spread(samples),
        good[-1].detail if good else {},
        next((x.error for x in samples if x.error), ''),
    )


def verdict(wanted: float | None, of: steady.Spread, to: steady.Spread) -> str:
    """Return whether a measured ratio reproduces a published one."""
    if wanted is None:
        return NO_FIGURE
    measured, target = math.log(of.median / to.median), math.log(wanted)
    noise = math.log(_NOISE)
    if abs(measured) < noise or (of.count > 1 and of.overlaps(to)):
        return REPRODUCED if abs(target) < noise else NO_DIFFERENCE
    if measured * target > 0 and abs(measured) >= _ENOUGH * abs(target):
        return REPRODUCED
    return WEAKER if measured * target > 0 else OPPOSITE


Explain = Callable[[Side, Side, results.Results], str]


def _osds(of: Side, to: Side, found: results.Results) -> str:
    """Explain the gain that the number of OSDs allows."""
    osds = int(found.environment.get('osds', 0))
    image, work = layout_of(of.cell.keys), of.cell.work
    size = found.settings.image_size
    plain = layout.ImageLayout(layout.DEFAULT_OBJECT_SIZE)
    gain = striping.gain(image, work, size, osds)
    before, after = (
        striping.osds_at_work(striping.objects_at_work(each, work, size), osds)
        for each in (plain, image)
    )
    return (
        f'The cluster has {osds} OSDs. {work.in_flight} requests in flight '
        f'are expected to keep {before:.1f} of them busy with the default '
        f'layout and {after:.1f} with {image}. Striping can therefore gain a '
        f'factor of {gain:.2f} at most.'
    )


def layout_of(given: plan.Keys) -> layout.ImageLayout:
    """Return the layout of keys."""
    found = options.parse(given, keys.Scope.TYPE, errors.Origin.VOLUME_TYPE)
    return layout.ImageLayout(
        found.object_size or layout.DEFAULT_OBJECT_SIZE, found.striping
    )


def _cache_policy(of: Side, to: Side, found: results.Results) -> str:
    policy = _option(found, 'rbd_cache_policy')
    if policy != 'writearound':
        return f'rbd_cache_policy is {policy}.'
    return (
        'rbd_cache_policy is writearound, the default since Nautilus: the '
        'cache of librbd holds writes and never serves reads. The cache of '
        '2013 did.'
    )


def _flush(of: Side, to: Side, found: results.Results) -> str:
    every = of.cell.work.flush_every
    text = (
        f'The workload flushes after each {every} writes.'
        if every
        else 'The workload never flushes.'
    )
    if _option(found, 'rbd_cache_writethrough_until_flush') == 'true':
        text += (
            ' librbd caches no write before the first flush '
            '(rbd_cache_writethrough_until_flush).'
        )
    return text


def _rate(of: Side, to: Side, found: results.Results) -> str:
    if not of.spread or not to.spread:
        return ''
    return (
        f'{of.spread.median:,.0f} and {to.spread.median:,.0f} operations per '
        'second were measured. What the client does for each request (cache, '
        'allocation of memory, encryption) matters where the client and not '
        'the cluster is the limit, as with the published tens of thousands.'
    )


def _objects(of: Side, to: Side, found: results.Results) -> str:
    if not to.spread:
        return ''
    size = fields.size('size', to.cell.values['size'])
    number = layout_of(to.cell.keys).object_count(size)
    seconds = 1 / to.spread.median
    return (
        f'Without an object map librbd requested the deletion of all '
        f'{number:,} objects that might exist: {seconds:.1f} s, '
        f'{number / seconds:,.0f} requests per second. The time grows with '
        'the size of the image and the latency of the OSDs.'
    )


def _same_host(of: Side, to: Side, found: results.Results) -> str:
    if not found.environment.get('client_is_osd_host'):
        return ''
    client: Mapping[str, Any] = found.environment.get('client', {})
    return (
        'The client runs on a host with OSDs and shares its '
        f'{client.get("cpus")} cores with them. The OSDs use the processor '
        'time that the client saves. There is no network between them.'
    )


def _option(found: results.Results, name: str) -> str:
    return str(found.environment.get('options', {}).get(name, 'unknown'))


_EXPLAIN: Mapping[str, Explain] = {
    'osds': _osds,
    'cache-policy': _cache_policy,
    'flush': _flush,
    'rate': _rate,
    'objects': _objects,
    'same-host': _same_host,
}
