# SPDX-License-Identifier: Apache-2.0

"""The options about the features of an image."""

from collections.abc import Sequence
from typing import Any

from rbd_volume_options import definitions
from rbd_volume_options import features
from rbd_volume_options import keys
from rbd_volume_options import operator_limits
from rbd_volume_options import phrases

Phrase = phrases.Phrase

SET_FEATURES = definitions.Policy(
    'features', 'Set the image features of a volume'
)


def _object_map_bounds(
    backends: Sequence[operator_limits.Limits], multiattach: bool
) -> dict[str, Any]:
    return {'allowed': [False] if multiattach else [False, True]}


def _features_bounds(
    backends: Sequence[operator_limits.Limits], multiattach: bool
) -> dict[str, Any]:
    chosen = features.CHOOSABLE
    if multiattach:
        chosen -= features.SINGLE_CLIENT
    return {
        'allowed': sorted(chosen),
        'requires': {
            name: [features.REQUIRES[name]]
            for name in sorted(chosen)
            if name in features.REQUIRES
        },
    }


OPTIONS = (
    definitions.Option(
        key=keys.OBJECT_MAP,
        kind=definitions.Kind.FEATURES,
        value_type=definitions.ValueType.BOOLEAN,
        title=Phrase('Object map'),
        summary=Phrase('whether the image has an object map'),
        description=(
            'Whether the image has an object map, with exclusive-lock and '
            'fast-diff, which speeds up deleting and resizing large '
            'volumes. Not allowed for multi-attach volumes.'
        ),
        when_to_use=Phrase(
            'Records which objects exist. Good for large volumes: an '
            'empty one of 1 TiB was deleted in 0.1 seconds instead of '
            '88. Not possible for volumes that several instances '
            'attach.'
        ),
        parse=features.parse_object_map,
        conf_type='boolean value',
        conf_help=(
            'Whether volumes get an object map by default. The metadata '
            'and the type of a volume override it with rbd:object_map. '
            'true adds exclusive-lock, object-map and fast-diff to the '
            'image features, false removes object-map and fast-diff. If '
            'unset, the stock driver decides.'
        ),
        policy=SET_FEATURES,
        family='features',
        inherited=True,
        narrowed=_object_map_bounds,
        suggestions=('true', 'false'),
    ),
    definitions.Option(
        key=keys.FEATURES,
        kind=definitions.Kind.FEATURES,
        value_type=definitions.ValueType.FEATURES,
        title=Phrase('Image features'),
        summary=Phrase('the complete set of image features'),
        description=(
            'The complete set of image features, separated by commas: '
            'layering, exclusive-lock, object-map, fast-diff, '
            'deep-flatten, journaling. layering is required.'
        ),
        when_to_use=Phrase(
            'Replaces the complete set of features. Leave it, unless an'
            ' administrator requests other features.'
        ),
        parse=features.parse_features,
        conf_type='list of image features',
        conf_help=(
            'Default set of image features of volumes, such as '
            'layering,exclusive-lock,object-map,fast-diff. The metadata '
            'and the type of a volume override it with rbd:features. Must '
            'include layering. If unset, rbd_default_features of '
            'ceph.conf applies.'
        ),
        policy=SET_FEATURES,
        attribute=definitions.ATTRIBUTE_FEATURES,
        family='features',
        inherited=True,
        bounds={'required': [features.LAYERING]},
        narrowed=_features_bounds,
    ),
)
