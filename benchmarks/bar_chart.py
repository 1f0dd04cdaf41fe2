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

"""Bar charts of what a benchmark found, as ratios against stock."""

from collections.abc import Mapping
import pathlib

import matplotlib

# No display is needed, and text stays text in the SVG.
matplotlib.use('svg')
matplotlib.rcParams['svg.fonttype'] = 'none'
# The same figures make the same file: a diff then shows a change.
matplotlib.rcParams['svg.hashsalt'] = 'rbd-volume-options'

from matplotlib import pyplot  # noqa: E402 - after the choice of back end


def draw(
    target: pathlib.Path, found: Mapping[str, Mapping[str, float]]
) -> None:
    """Draw a group of bars for each workload.

    The first variant of a workload is stock's; all bars are ratios against
    it, on a logarithmic axis when they differ by more than a factor of ten.

    :param found: operations a second by workload and variant
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    variants = list(next(iter(found.values())))
    figure, axes = pyplot.subplots(
        figsize=(8, 1 + 0.32 * len(found) * (len(variants) + 1))
    )
    ratios = [
        [row[variant] / row[variants[0]] for row in found.values()]
        for variant in variants
    ]
    height = 0.8 / len(variants)
    for place, variant in enumerate(variants):
        bars = axes.barh(
            [group + place * height for group in range(len(found))],
            ratios[place],
            height,
            label=variant,
        )
        axes.bar_label(bars, fmt='{:.2f}', padding=3, fontsize=8)
    axes.set_yticks(
        [group + 0.4 - height / 2 for group in range(len(found))],
        list(found),
    )
    axes.invert_yaxis()
    if max(map(max, ratios)) > 10:
        axes.set_xscale('log')
    axes.set_xlabel(f'operations a second, {variants[0]} = 1')
    axes.legend(loc='upper left', bbox_to_anchor=(1, 1), frameon=False)
    axes.spines[['top', 'right']].set_visible(False)
    figure.savefig(
        target, bbox_inches='tight', metadata={'Date': None, 'Creator': None}
    )
    pyplot.close(figure)
