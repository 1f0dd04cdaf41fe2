# SPDX-License-Identifier: Apache-2.0

"""Unit tests of rbd_volume_options.wire: names that must not change."""

from rbd_volume_options import wire
from tests.unit import base

#: Names that the records of volumes and other processes use.
_CONTRACT = {
    'ALIAS': 'os-rbd-volume-options',
    'HEADER_COMPARED': 'OpenStack-RBD-Compared',
    'ROUTE': '/os-rbd-volume-options',
    'ATTRIBUTE_OBJECT_SIZE': 'os-rbd-volume-options:object_size',
    'ATTRIBUTE_STRIPE_UNIT': 'os-rbd-volume-options:stripe_unit',
    'ATTRIBUTE_STRIPE_COUNT': 'os-rbd-volume-options:stripe_count',
    'ATTRIBUTE_FEATURES': 'os-rbd-volume-options:features',
    'ATTRIBUTE_DATA_POOL': 'os-rbd-volume-options:data_pool',
    'ATTRIBUTE_CACHE_MODES': 'os-rbd-volume-options:cache_modes',
    'ATTRIBUTE_CACHE_MODES_IN_FORCE': (
        'os-rbd-volume-options:cache_modes_in_force'
    ),
    'ATTRIBUTE_ORIGINS': 'os-rbd-volume-options:origins',
    'ATTRIBUTE_REFUSED': 'os-rbd-volume-options:refused',
    'ATTRIBUTE_ATTACH_REFUSED': 'os-rbd-volume-options:attach_refused',
    'ATTACH_REFUSED_REASON': 'reason',
    'ATTACH_REFUSED_AT': 'at',
    'ATTRIBUTE_CONVERSION': 'os-rbd-volume-options:conversion',
    'CONVERSION_PERCENT': 'percent',
    'CONVERSION_AT': 'at',
    'CONVERSION_REASON': 'reason',
    'CONVERSION_NEW_TYPE': 'new_type_id',
    'SUPPORTED': 'supported',
    'REQUIRE_WHOLE_STRIPES': 'require_whole_stripes',
    'SETTABLE': 'settable',
    'WITH_PARTNER': 'with_partner',
    # Clients compare these texts.
    'NO_BACKEND': (
        'no back end that has reported its capabilities matches the volume '
        'type'
    ),
    'NOT_RBD': 'no back end of the volume type supports RBD volume options',
    'MIXED': (
        'the volume type can also use back ends that do not support RBD '
        'volume options'
    ),
    'FIXED_AT_CREATION': 'fixed_at_creation',
    'DEFAULT_FROM': 'default_from',
    'MAXIMUM_OBJECTS': 'maximum_objects',
    'POWER_OF_TWO': 'power_of_two',
    'TOGETHER_WITH': 'together_with',
    'PER_GIB': 'per_gib',
    'PER_GIB_MINIMUM': 'per_gib_minimum',
    'CANDIDATES': 'candidates',
    'MINIMUM_SIZE': 'provisioning:min_vol_size',
    'MAXIMUM_SIZE': 'provisioning:max_vol_size',
    'QOS_LIMITS': 'qos_limits',
    'FROM_VOLUME_METADATA': 'volume metadata',
    'FROM_VOLUME_TYPE': 'volume type',
    'FROM_SOURCE_VOLUME': 'source volume',
    'FROM_BACKEND': 'backend configuration',
    'FROM_GLANCE_IMAGE': 'Glance image',
    'FROM_CLUSTER': 'Ceph configuration',
    'REFUSED': 'RBD volume option refused: ',
    'FORBIDDEN_KEY': 'Policy does not allow {policy}, which {key} needs.',
    'POLICY': 'volume_extension:rbd_volume_options',
    **{
        f'POLICY_{name.upper()}': f'volume_extension:rbd_volume_options:{name}'
        for name in (
            'get',
            'get_pools',
            'get_qos_limits',
            'set_layout',
            'set_features',
            'set_cache_mode',
            'set_extra_specs',
            'offer_cache_modes',
            'correct_fixed_keys',
        )
    },
    'LOCATION_INFO': 'location_info',
    'RBD_LOCATION_INFO': 'rbd_location_info',
    'CLONE_SNAPSHOT': '.clone_snap',
    'DELETED_SOURCE': '.deleted',
    'RBD_VOLUME_OPTIONS': 'rbd_volume_options',
    'RBD_DATA_POOLS': 'rbd_data_pools',
    'RBD_VOLUME_OBJECT_SIZE': 'rbd_volume_object_size',
    'RBD_VOLUME_OBJECT_MAP': 'rbd_volume_object_map',
    'RBD_VOLUME_FEATURES': 'rbd_volume_features',
    'RBD_VOLUME_DATA_POOL': 'rbd_volume_data_pool',
    'RBD_TENANT_OPTIONS': 'rbd_tenant_options',
    'RBD_ALLOWED_CACHE_MODES': 'rbd_allowed_cache_modes',
    'RBD_CACHE_MODE_ENFORCEMENT': 'rbd_cache_mode_enforcement',
    'RBD_MAX_STRIPE_COUNT': 'rbd_max_stripe_count',
    'RBD_REQUIRE_WHOLE_STRIPES': 'rbd_require_whole_stripes',
    'RBD_MIN_OBJECT_SIZE': 'rbd_min_object_size',
    'RBD_MAX_OBJECTS': 'rbd_max_objects',
    'RBD_DEFAULT_FEATURES': 'rbd_default_features',
    'RBD_DEFAULT_STRIPE_UNIT': 'rbd_default_stripe_unit',
    'RBD_DEFAULT_STRIPE_COUNT': 'rbd_default_stripe_count',
    'STRICT': 'strict',
    'LENIENT': 'lenient',
    'CONNECTOR_HOST': 'rbd_host',
    'HOSTS_ROUTE': '/os-rbd-compute-hosts',
    'HOSTS': 'compute_hosts',
    'HOSTS_HEARD': 'heard_at',
    'HOSTS_HEARD_WITHOUT': 'heard_without_plug_in_at',
    'POLICY_GET_HOSTS': (
        'volume_extension:rbd_volume_options:get_compute_hosts'
    ),
    'CONNECTION_CACHE_MODE': 'cache_mode',
    'CONNECTION_CACHE_MODE_IN_FORCE': 'cache_mode_in_force',
    'CONNECTION_NOT_APPLIED': 'rbd_not_applied',
    'RECORD_ITEMS': tuple(f'rbd:items_{number}' for number in range(2, 17)),
    'RECORD_REASON': (
        'rbd:reason',
        *(f'rbd:reason_{number}' for number in range(2, 5)),
    ),
    'REASON_CREATION': 'creation',
    'REASON_ATTACHMENT': 'attachment',
    'REASON_RETYPE': 'retype',
    'REASON_LAYOUT': 'change of layout',
    'REASON_PROPERTY': 'property',
    'RECORD_ACCEPTED': 'rbd:accepted_',
    'RECORD_CONFIGURING': 'rbd:configuring',
    'RECORD_QOS': 'rbd:qos_',
    'POLICY_SET_COMPRESSION_HINT': (
        'volume_extension:rbd_volume_options:set_compression_hint'
    ),
    'ATTRIBUTE_LIMITS': 'os-rbd-volume-options:limits',
    'POLICY_SET_LIMITS': 'volume_extension:rbd_volume_options:set_limits',
    'ATTRIBUTE_COMPRESSION_HINT': 'os-rbd-volume-options:compression_hint',
    'POLICY_SET_DISCARD': 'volume_extension:rbd_volume_options:set_discard',
    'ATTRIBUTE_DISCARD': 'os-rbd-volume-options:discard',
    'CONNECTION_DISCARD': 'discard',
    'POLICY_SET_DISCARD_GRANULARITY': (
        'volume_extension:rbd_volume_options:set_discard_granularity'
    ),
    'ATTRIBUTE_DISCARD_GRANULARITY': (
        'os-rbd-volume-options:discard_granularity'
    ),
    'CONNECTION_DISCARD_GRANULARITY': 'discard_granularity',
    'POLICY_SET_DETECT_ZEROES': (
        'volume_extension:rbd_volume_options:set_detect_zeroes'
    ),
    'ATTRIBUTE_DETECT_ZEROES': 'os-rbd-volume-options:detect_zeroes',
    'CONNECTION_DETECT_ZEROES': 'detect_zeroes',
    'POLICY_SET_SECTOR_SIZE': (
        'volume_extension:rbd_volume_options:set_sector_size'
    ),
    'ATTRIBUTE_SECTOR_SIZE': 'os-rbd-volume-options:sector_size',
    'CONNECTION_LOGICAL_BLOCK_SIZE': 'logical_block_size',
    'CONNECTION_PHYSICAL_BLOCK_SIZE': 'physical_block_size',
    'RECORD_CONVERSION': 'rbd:conversion',
    'MARKER_TEXTS': (
        'rbd:conversion',
        *(f'rbd:conversion_{number}' for number in range(4)),
    ),
    'MARKER_RECORDS': (
        'rbd:conversion',
        *(f'rbd:conversion_{number}' for number in range(4)),
        'rbd:marked',
        'rbd:new_type',
    ),
    'RECORD_RESTORING': 'rbd:restoring',
    'RECORD_BEFORE_RESTORE': 'rbd:before_restore:',
    'AUDIT_VERSION': 'version',
    'AUDIT_THIS_VERSION': 1,
    'AUDIT_TAKEN': 'taken',
    'AUDIT_FINDINGS': 'findings',
    'AUDIT_IMAGES': 'images',
    'AUDIT_KIND': 'kind',
    'AUDIT_POOL': 'pool',
    'AUDIT_IMAGE': 'image',
    'AUDIT_DETAIL': 'detail',
    'AUDIT_VOLUME': 'volume',
    'AUDIT_ORPHAN_VOLUME': 'orphan-volume',
    'AUDIT_NAME': 'name',
    'AUDIT_USED': 'used',
    'AUDIT_OBJECT_MAP': 'object_map',
    'AUDIT_MAP_VALID': 'valid',
    'AUDIT_MAP_INVALID': 'invalid',
    'AUDIT_MAP_NONE': 'none',
    'STORE_TYPE': 'rbd_objmap',
    'DASHBOARD_ENABLED': '_3110_rbd_volume_options.py',
    'DASHBOARD_ROUTE': 'rbd_volume_options/',
    'RBD_CLOUD_ID': 'rbd_cloud_id',
    'RECORD_MARKED': 'rbd:marked',
    'RECORD_NEW_TYPE': 'rbd:new_type',
    'MARKED': 'marked',
}

#: Prefixes of the names of items.
_ITEMS = (
    'ATTACH_REFUSED_',
    'AUDIT_',
    'CONVERSION_',
    'MARKER_',
)


class WireTestCase(base.TestCase):
    def _names(self) -> dict[str, object]:
        return {k: v for k, v in vars(wire).items() if k.isupper()}

    def test_names_are_those_of_the_contract(self) -> None:
        self.assertEqual(_CONTRACT, self._names())

    def test_no_two_names_are_the_same(self) -> None:
        """Two attributes or documents may have the same items."""
        values = [
            value
            for name, value in self._names().items()
            if not name.startswith(_ITEMS)
        ]
        self.assertEqual(len(values), len(set(values)))

    def test_options_and_capabilities_are_called_like_their_text(self) -> None:
        for name, value in self._names().items():
            if name.startswith('RBD_'):
                self.assertEqual(name.lower(), value)
