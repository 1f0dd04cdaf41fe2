# SPDX-License-Identifier: Apache-2.0

"""Our results for the cases, and the allowed differences from librbd."""

from collections.abc import Callable
import dataclasses

from rbd_volume_options import errors
from rbd_volume_options import features
from rbd_volume_options import inheritance
from rbd_volume_options import keys
from rbd_volume_options import layout
from rbd_volume_options import operator_limits
from rbd_volume_options import options
from rbd_volume_options import plan
from tests.functional.rbd_volume_options import cases

# Disable the rules of the back end, which librbd does not have.
_LIMITS = operator_limits.Limits(
    max_stripe_count=2**63,
    require_whole_stripes=False,
    min_object_size=layout.MIN_OBJECT_SIZE,
    max_objects=2**63,
)


@dataclasses.dataclass(frozen=True)
class Stricter:
    """A rule by which we refuse an image that librbd creates.

    :ivar why: the reason for the stricter rule
    :ivar complaint: a part of our error message
    """

    why: str
    applies: Callable[[cases.Case], bool]
    complaint: str


def _contradicts(case: cases.Case) -> bool:
    if case.names is None or case.object_map is None:
        return False
    return case.object_map is not ('object-map' in case.names)


_REQUIRES = {
    'object-map': 'exclusive-lock',
    'journaling': 'exclusive-lock',
    'fast-diff': 'object-map',
}


def _names(case: cases.Case) -> frozenset[str]:
    return frozenset(case.names or ())


def _begins_a_pair(case: cases.Case) -> bool:
    return case.parent is not None and (case.unit is None) is not (
        case.count is None
    )


def _completed_by_object_map(case: cases.Case) -> bool:
    names = _names(case)
    return case.object_map is not None and any(
        name in names and needed not in names
        for name, needed in _REQUIRES.items()
    )


STRICTER = (
    Stricter(
        'librbd creates an image without layering, but it cannot be cloned, '
        'and Cinder clones snapshots, images and volumes',
        lambda case: bool(case.names) and 'layering' not in _names(case),
        'layering is missing, which clones require',
    ),
    Stricter(
        'an image without features has no layering, and an empty value is '
        'probably a mistake',
        lambda case: case.names == (),
        "'' is not an image feature",
    ),
    Stricter(
        'two keys of one origin contradict each other; librbd gets only the '
        'resulting mask',
        _contradicts,
        'contradicts rbd:features',
    ),
    Stricter(
        'a list of features is the complete set and must be valid without '
        'the features that rbd:object_map adds or removes',
        _completed_by_object_map,
        ' requires ',
    ),
    Stricter(
        'librbd takes the missing value of a clone from its parent; we '
        'require both values of a pair from one origin',
        _begins_a_pair,
        'set without',
    ),
    Stricter(
        'librbd accepts 64 bits and uses 32: with 2^32 + 1, the image has '
        'as many objects as with a stripe count of 1',
        lambda case: case.count is not None and case.count >= 2**31,
        'out of range',
    ),
)


def state(numbers: cases.Numbers) -> options.Values:
    """Return the state of an image in the types of the package."""
    return options.image_values(
        layout.ImageLayout.from_numbers(
            1 << numbers.order, numbers.unit, numbers.count
        ),
        features.from_mask(numbers.features),
    )


def base_of(case: cases.Case) -> options.Values:
    """Return the image that the stock driver would create."""
    image_layout = layout.ImageLayout(4 * 2**20)
    if case.parent:
        image_layout = state(case.parent).layout
    return options.image_values(
        image_layout, features.from_mask(case.stock_features)
    )


def ours(case: cases.Case) -> options.Values | errors.OptionError:
    """Return our plan for the image, or the error if it is refused."""
    origin = errors.Origin.VOLUME_METADATA
    try:
        said = options.parse(case.items, keys.Scope.VOLUME, origin)
        levels = [said]
        if case.parent:
            levels.append(
                inheritance.level_of(
                    errors.Origin.SOURCE_VOLUME, state(case.parent)
                )
            )
        return plan.plan_image(
            options.resolve(levels), base_of(case), case.size, _LIMITS
        )
    except errors.OptionError as error:
        return error


def is_excused(case: cases.Case, error: errors.OptionError) -> bool:
    """Return whether a stricter rule explains the error."""
    return any(
        rule.applies(case) and rule.complaint in error.reason
        for rule in STRICTER
    )
