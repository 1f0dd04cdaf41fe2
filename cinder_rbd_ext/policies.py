# SPDX-License-Identifier: Apache-2.0

"""Policies of the API extension, with documented defaults.

The API checks the keys of a request, and the driver inherited values.
"""

# oslo.policy has the type of an operation since 2026.1.
from __future__ import annotations

from collections.abc import Iterable

from cinder import policy as cinder_policy
from cinder.policies import base
from oslo_policy import policy
import webob.exc

from cinder_rbd_ext import protocols
from rbd_volume_options import definitions
from rbd_volume_options import errors
from rbd_volume_options import registry
from rbd_volume_options import request

GET = f'{definitions.POLICY}:get'
GET_HOSTS = f'{definitions.POLICY}:get_compute_hosts'
GET_POOLS = f'{definitions.POLICY}:get_pools'
GET_QOS_LIMITS = f'{definitions.POLICY}:get_qos_limits'
SET_EXTRA_SPECS = f'{definitions.POLICY}:set_extra_specs'
OFFER_CACHE_MODES = f'{definitions.POLICY}:offer_cache_modes'
CORRECT_FIXED_KEYS = f'{definitions.POLICY}:correct_fixed_keys'

_TYPES: list[policy.Operation] = [
    {'method': 'GET', 'path': definitions.ROUTE},
    {'method': 'GET', 'path': f'{definitions.ROUTE}/{{volume_type}}'},
]
_VOLUMES: list[policy.Operation] = [
    {'method': 'GET', 'path': '/volumes/{volume_id}'},
    {'method': 'GET', 'path': '/volumes/detail'},
]
_CREATE: list[policy.Operation] = [
    {'method': 'POST', 'path': '/volumes'},
    {'method': 'POST', 'path': '/os-volume-manage'},
    {'method': 'POST', 'path': '/manageable_volumes'},
]
_METADATA: list[policy.Operation] = [
    {'method': 'POST', 'path': '/volumes/{volume_id}/metadata'},
    {'method': 'PUT', 'path': '/volumes/{volume_id}/metadata'},
    {'method': 'PUT', 'path': '/volumes/{volume_id}/metadata/{key}'},
    {'method': 'DELETE', 'path': '/volumes/{volume_id}/metadata/{key}'},
    {'method': 'PUT', 'path': '/volumes/{volume_id}'},
]

_RULES = [
    policy.DocumentedRuleDefault(
        name=GET,
        check_str=base.SYSTEM_READER_OR_PROJECT_READER,
        description=(
            'Show the RBD volume options that a volume type offers, and the '
            'attributes os-rbd-volume-options of a volume: its layout, image '
            'features and cache modes.'
        ),
        operations=[*_TYPES, *_VOLUMES],
    ),
    policy.DocumentedRuleDefault(
        name=CORRECT_FIXED_KEYS,
        check_str=base.RULE_ADMIN_API,
        description=(
            'Remove fixed keys from the metadata of a volume, or set them to '
            'the values that are recorded for its image. Have the driver '
            'compare the image with all keys (a POST request without items).'
        ),
        operations=_METADATA,
    ),
    policy.DocumentedRuleDefault(
        name=SET_EXTRA_SPECS,
        check_str=base.RULE_ADMIN_API,
        description='Set rbd: keys in the extra specs of a volume type.',
        operations=[
            {'method': 'POST', 'path': '/types'},
            {'method': 'POST', 'path': '/types/{type_id}/extra_specs'},
            {'method': 'PUT', 'path': '/types/{type_id}/extra_specs/{key}'},
            {'method': 'DELETE', 'path': '/types/{type_id}/extra_specs/{key}'},
        ],
    ),
    policy.DocumentedRuleDefault(
        name=GET_HOSTS,
        check_str=base.RULE_ADMIN_API,
        description=(
            'Show what the compute hosts can do for RBD volumes, as they said '
            'in the connectors of attachments.'
        ),
        operations=[{'method': 'GET', 'path': definitions.HOSTS_ROUTE}],
    ),
    policy.DocumentedRuleDefault(
        name=GET_POOLS,
        check_str=base.RULE_ADMIN_API,
        description=(
            'Show the names of Ceph pools: the attribute data_pool of a '
            'volume, the default of rbd:data_pool and the pools that can be '
            'data pools.'
        ),
        operations=[
            *_TYPES,
            *_VOLUMES,
            {'method': 'POST', 'path': '/volumes/{volume_id}/action'},
        ],
    ),
    policy.DocumentedRuleDefault(
        name=GET_QOS_LIMITS,
        check_str=base.SYSTEM_READER_OR_PROJECT_READER,
        description=(
            'Show the limits on reads and writes that the QoS specs of a '
            'visible volume type set.'
        ),
        operations=_TYPES,
    ),
    policy.DocumentedRuleDefault(
        name=OFFER_CACHE_MODES,
        check_str=f'{base.RULE_ADMIN_API} or role:service',
        description=(
            'Say in a connector what a compute host can do, such as its '
            'cache modes (rbd_host). Requests with a service token that has '
            'one of [keystone_authtoken] service_token_roles are always '
            'allowed. The item of any other caller is ignored.'
        ),
        operations=[
            {'method': 'POST', 'path': '/attachments'},
            {'method': 'PUT', 'path': '/attachments/{attachment_id}'},
            {
                'method': 'POST',
                'path': '/volumes/{volume_id}/action '
                '(os-initialize_connection)',
            },
        ],
    ),
]


def list_rules() -> list[policy.DocumentedRuleDefault]:
    """Return the rules for oslopolicy-sample-generator."""
    return [*_RULES, *map(_rule_of, registry.policies())]


def _rule_of(each: definitions.Policy) -> policy.DocumentedRuleDefault:
    names = ', '.join(registry.policies()[each])
    return policy.DocumentedRuleDefault(
        name=each.name,
        check_str=base.SYSTEM_ADMIN_OR_PROJECT_MEMBER,
        description=f'{each.action}: {names}.',
        operations=[*_CREATE, *_METADATA],
    )


def register() -> None:
    """Register the rules with the enforcer of Cinder's API."""
    cinder_policy.init()
    enforcer = cinder_policy._ENFORCER
    for rule in _RULES:
        if rule.name not in enforcer.registered_rules:
            enforcer.register_default(rule)
    for each in registry.policies():
        if each.name not in enforcer.registered_rules:
            enforcer.register_default(_rule_of(each))


def allows(
    context: protocols.Context, action: str, target: object = None
) -> bool:
    """Return whether the caller may perform an action on a volume, if any."""
    register()
    return bool(context.authorize(action, target_obj=target, fatal=False))


def settable(context: protocols.Context) -> frozenset[str]:
    """Return the keys that the policy lets the caller set."""
    return frozenset(
        key
        for each, keys_of_it in registry.policies().items()
        if allows(context, each.name)
        for key in keys_of_it
    )


def settable_by_creator(
    volume: protocols.Volume, requested: request.Request, moved: bool
) -> frozenset[str]:
    """Return the keys that the creator of a volume may set on it.

    The volume's type, its back end and the policy of this service decide. A
    context without roles does not come from the API, and no policy can be
    checked for it.

    :param moved: whether an operator migrates the volume unchanged
    """
    if moved:
        return frozenset(registry.volume_keys())
    # The context of the object, which the manager passed.
    context = volume._context
    if context is None or not context.roles:
        return requested.tenant_options
    return requested.tenant_options & settable(context)


def check(
    context: protocols.Context, action: str, target: object = None
) -> None:
    """Raise ``HTTPForbidden`` if the caller may not perform an action."""
    if not allows(context, action, target):
        raise webob.exc.HTTPForbidden(
            explanation=f'Policy does not allow {action}.'
        )


def check_keys(
    context: protocols.Context, names: Iterable[str], target: object = None
) -> None:
    """Check that the caller may set keys in the metadata of a volume.

    Unknown keys have no policy. Other checks refuse them.

    :raises HTTPForbidden: with the first key that the caller may not set
    """
    for key in sorted(names):
        option = registry.OPTIONS.get(key)
        action = option.policy.name if option and option.policy else None
        if action and not allows(context, action, target):
            raise webob.exc.HTTPForbidden(
                explanation=errors.FORBIDDEN_KEY.format(policy=action, key=key)
            )
