# SPDX-License-Identifier: Apache-2.0

"""The plans of the package and plans in other files."""

import dataclasses
import importlib.resources
import pathlib
from typing import Any

from rbd_bench import fields
from rbd_bench import plan
from rbd_bench import results
from rbd_bench import stored
from rbd_volume_tools.command_line import whole_file

_SUFFIX = '.yaml'


def names() -> list[str]:
    """Return the names of the plans that are part of the package."""
    return sorted(
        each.name.removesuffix(_SUFFIX)
        for each in _folder().iterdir()
        if each.name.endswith(_SUFFIX)
    )


def _folder() -> Any:
    return importlib.resources.files(__package__).joinpath('plans')


def load(name: str, short: bool = False) -> plan.Plan:
    """Return a plan.

    :param name: name of a plan of the package, or path of a file
    :param short: whether to use the plan's settings for a short run
    :raises OptionError: if there is no such plan, or for an invalid value
    """
    path = pathlib.Path(name)
    if name in names():
        text = _folder().joinpath(name + _SUFFIX).read_text()
    elif path.suffix == _SUFFIX and path.is_file():
        text = whole_file.read(path)
    else:
        raise fields.refused(
            'PLAN',
            name,
            'no such plan',
            f'{", ".join(names())}, or the path of a {_SUFFIX} file',
        )
    return plan.parse(text, short)


def of_results(
    measured: results.Results, name: str | None = None
) -> plan.Plan:
    """Return the plan of results.

    :param name: a plan to use in its place, for other published ratios
    :raises OptionError: if there is no such plan, or it differs from the
        results'
    """
    if name is None:
        return measured.whole_plan
    whole_plan = dataclasses.replace(load(name), settings=measured.settings)
    if changed := stored.differences(measured.whole_plan, whole_plan):
        raise fields.refused(
            '--plan',
            name,
            f'not the plan of the results ({stored.joined(changed)})',
            'the plan with which they were measured',
        )
    return whole_plan
