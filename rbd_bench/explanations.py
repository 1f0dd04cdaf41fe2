# SPDX-License-Identifier: Apache-2.0

"""Explanations of the difference of a measured ratio from a published one.

Some explain why a gain is missing. They depend on what was measured, and are
left out if the gain was there.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from rbd_bench import fields
from rbd_bench import matrix
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import steady
from rbd_bench import striping

#: Percent of a core from which on fio itself is the limit.
_BUSY = 90


@dataclasses.dataclass(frozen=True)
class Side:
    """A combination of a published ratio, and its measurements.

    :ivar detail: other figures of the last measurement
    :ivar error: why it failed; empty if it did not
    """

    cell: matrix.Cell
    spread: steady.Spread | None
    detail: Mapping[str, float]
    error: str


def explain(
    names: Iterable[str],
    of: Side,
    to: Side,
    measured: results.Results,
    is_short: bool,
) -> list[str]:
    """Return explanations.

    :param names: those that the plan names for a published ratio
    :param is_short: whether the measured gain is smaller than the published
        one, or missing
    """
    texts = [
        _EXPLAIN[name](of, to, measured)
        for name in names
        if is_short or name in _FACTS
    ]
    return [each for each in texts if each]


Explain = Callable[[Side, Side, results.Results], str]


def _osds(of: Side, to: Side, measured: results.Results) -> str:
    """Explain the gain that the number of OSDs allows."""
    osds = int(measured.environment.get('osds', 0))
    image, work = plan.layout_of(of.cell.keys), of.cell.work
    size = measured.settings.image_size
    gain = striping.gain(image, work, size, osds)
    before, after = (
        striping.busy_osds(each, work, size, osds)
        for each in (striping.PLAIN, image)
    )
    return (
        f'The pool uses {osds} OSDs. {work.in_flight} requests in flight '
        f'are expected to keep {before:.1f} of them busy with the default '
        f'layout and {after:.1f} with {image}. Striping can therefore gain a '
        f'factor of {gain:.2f} at most.'
    )


def _cache_policy(of: Side, to: Side, measured: results.Results) -> str:
    policy = _option(measured, 'rbd_cache_policy')
    if policy != 'writearound':
        return f'rbd_cache_policy is {policy}.{_latencies(of, to)}'
    return (
        'rbd_cache_policy is writearound, the default since Nautilus: the '
        'cache of librbd holds writes and never serves reads. The cache of '
        f'2013 did.{_latencies(of, to)}'
    )


def _latencies(of: Side, to: Side) -> str:
    """Return sentences about the durations of requests, if both have them."""
    text = ''
    for kind in ('read', 'write'):
        name = f'{kind}_ms_mean'
        if name in of.detail and name in to.detail:
            text += (
                f' A {kind} took {of.detail[name]:.2f} ms on average with '
                f'{of.cell.values[plan.CACHE_MODE]} and '
                f'{to.detail[name]:.2f} ms with '
                f'{to.cell.values[plan.CACHE_MODE]}.'
            )
    return text


def _flush(of: Side, to: Side, measured: results.Results) -> str:
    every = of.cell.work.flush_every
    text = (
        f'The workload flushes after each {every} writes.'
        if every
        else 'The workload never flushes.'
    )
    if _option(measured, 'rbd_cache_writethrough_until_flush') == 'true':
        text += (
            ' librbd caches no write before the first flush '
            '(rbd_cache_writethrough_until_flush).'
        )
    return text


def _rate(of: Side, to: Side, measured: results.Results) -> str:
    if not of.spread or not to.spread:
        return ''
    text = (
        f'{of.spread.median:,.0f} and {to.spread.median:,.0f} operations per '
        'second were measured.'
    )
    busy = [x.detail.get('client_cpu_percent') for x in (of, to)]
    if None not in busy:
        shown = ' and '.join(f'{x:.0f} %' for x in busy)
        if max(x or 0 for x in busy) >= _BUSY:
            return (
                f'{text} fio itself was the limit: it used {shown} of a core.'
            )
        text += (
            f' fio used {shown} of a core, without the threads of librbd and '
            'QEMU, and otherwise waited for its requests.'
        )
    return (
        f'{text} What the client does for each request (cache, allocation of '
        'memory, encryption) matters only where the client is the limit, as '
        'with the published tens of thousands.'
    )


def _objects(of: Side, to: Side, measured: results.Results) -> str:
    if not to.spread:
        return ''
    size = fields.size('size', to.cell.values['size'])
    number = plan.layout_of(to.cell.keys).object_count(size)
    seconds = 1 / to.spread.median
    return (
        f'Without an object map librbd requested the deletion of all '
        f'{number:,} objects that might exist: {seconds:.1f} s, '
        f'{number / seconds:,.0f} requests per second. The time grows with '
        'the size of the image and the latency of the OSDs.'
    )


def _same_host(of: Side, to: Side, measured: results.Results) -> str:
    if not measured.environment.get('client_is_osd_host'):
        return ''
    client: Mapping[str, Any] = measured.environment.get('client', {})
    return (
        'The client runs on a host with OSDs and shares its '
        f'{client.get("cpus")} cores with them. The OSDs use the processor '
        'time that the client saves. There is no network between them.'
    )


def _option(measured: results.Results, name: str) -> str:
    return str(measured.environment.get('options', {}).get(name, 'unknown'))


_EXPLAIN: Mapping[str, Explain] = {
    'osds': _osds,
    'cache-policy': _cache_policy,
    'flush': _flush,
    'rate': _rate,
    'objects': _objects,
    'same-host': _same_host,
}
#: Explanations that are facts, whatever the measured gain.
_FACTS = ('osds', 'objects')
