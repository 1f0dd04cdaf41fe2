# SPDX-License-Identifier: Apache-2.0

"""Names that several modules exchange between processes, each defined once.

Cinder's API, its driver, Nova, Glance, Horizon and its pages, the clients,
Tempest and Ceph read data that another of them wrote. The names of ``rbd:``
keys are in :mod:`rbd_volume_options.keys`, and what only one module writes and
reads is defined there. Generic fields of the API response
(``name``, ``default``) are in its schema, :mod:`rbd_volume_options.published`.

These names must not change: volumes, attachments and services of earlier
releases use them.
"""

from collections.abc import Mapping
from typing import Any

# Cinder's API

#: Alias of the API extension; prefix of its route and of its attributes.
ALIAS = 'os-rbd-volume-options'
#: Route of the API extension, below the project.
ROUTE = f'/{ALIAS}'

#: Route of the API extension for administrators, below the project: what the
#: compute hosts said in the connectors of attachments.
HOSTS_ROUTE = '/os-rbd-compute-hosts'
#: Its response, a list.
HOSTS = 'compute_hosts'
# Items of a host, beside its name and :data:`CONNECTOR_HOST`: when a connector
# with that item was last sent, and one without.
HOSTS_HEARD = 'heard_at'
HOSTS_HEARD_WITHOUT = 'heard_without_plug_in_at'

# Attributes of a volume. Sizes are in bytes; null if there is no record.
ATTRIBUTE_OBJECT_SIZE = f'{ALIAS}:object_size'
ATTRIBUTE_STRIPE_UNIT = f'{ALIAS}:stripe_unit'
ATTRIBUTE_STRIPE_COUNT = f'{ALIAS}:stripe_count'
ATTRIBUTE_FEATURES = f'{ALIAS}:features'
ATTRIBUTE_DATA_POOL = f'{ALIAS}:data_pool'
#: The limits on reads and writes that are in force, by key without prefix.
ATTRIBUTE_LIMITS = f'{ALIAS}:limits'
ATTRIBUTE_SECTOR_SIZE = f'{ALIAS}:sector_size'
#: The requested cache mode of each attachment, by the attachment's ID.
ATTRIBUTE_CACHE_MODES = f'{ALIAS}:cache_modes'
#: The cache mode that the host of each attachment gives, by the attachment's
#: ID: null if the host decides, because it has no plug-in or no mode is
#: requested. After a live migration or a swap, it is in force at the next
#: start.
ATTRIBUTE_CACHE_MODES_IN_FORCE = f'{ALIAS}:cache_modes_in_force'
#: Where object size, striping and features were set, by these names.
ATTRIBUTE_ORIGINS = f'{ALIAS}:origins'
#: The reason why the volume could not be created.
ATTRIBUTE_REFUSED = f'{ALIAS}:refused'
#: The reason and the time of the last refused attachment.
ATTRIBUTE_ATTACH_REFUSED = f'{ALIAS}:attach_refused'
ATTACH_REFUSED_REASON = 'reason'
ATTACH_REFUSED_AT = 'at'
#: The progress of a conversion of the image by a retype, or the reason why the
#: last one was not possible. Items that do not apply are null.
ATTRIBUTE_CONVERSION = f'{ALIAS}:conversion'
CONVERSION_PERCENT = 'percent'
CONVERSION_AT = 'at'
CONVERSION_REASON = 'reason'
CONVERSION_NEW_TYPE = 'new_type_id'

# Fields of the response that lists the options of a volume type.
SUPPORTED = 'supported'
REQUIRE_WHOLE_STRIPES = 'require_whole_stripes'
SETTABLE = 'settable'
FIXED_AT_CREATION = 'fixed_at_creation'
DEFAULT_FROM = 'default_from'
MAXIMUM_OBJECTS = 'maximum_objects'
POWER_OF_TWO = 'power_of_two'
TOGETHER_WITH = 'together_with'
#: Fields of a limit on reads and writes: what the volume type sets for each
#: GiB of a volume, and the smallest limit that follows from it.
PER_GIB = 'per_gib'
PER_GIB_MINIMUM = 'per_gib_minimum'
#: Field of rbd:data_pool: the pools that the clusters of all back ends have.
CANDIDATES = 'candidates'

#: Field of a volume type: its limits on reads and writes (QoS specs of
#: Cinder), or null. Its items are "consumer" (of the QoS specs) and "limits".
QOS_LIMITS = 'qos_limits'

# Values of "reason": why a volume type has no options.
NO_BACKEND = (
    'no back end that has reported its capabilities matches the volume type'
)
NOT_RBD = 'no back end of the volume type supports RBD volume options'
MIXED = (
    'the volume type can also use back ends that do not support RBD volume '
    'options'
)

#: Parameter of DELETE for an extra spec that removes both keys of a pair.
WITH_PARTNER = 'with_partner'

# Horizon recognizes refusals of the API extension by these texts.
#: Start of each HTTP 400 message; key, value and reason follow.
REFUSED = 'RBD volume option refused: '
#: HTTP 403 message for a key.
FORBIDDEN_KEY = 'Policy does not allow {policy}, which {key} needs.'

# Policies
POLICY = 'volume_extension:rbd_volume_options'
POLICY_GET = f'{POLICY}:get'
POLICY_GET_HOSTS = f'{POLICY}:get_compute_hosts'
POLICY_GET_POOLS = f'{POLICY}:get_pools'
POLICY_GET_QOS_LIMITS = f'{POLICY}:get_qos_limits'
POLICY_SET_EXTRA_SPECS = f'{POLICY}:set_extra_specs'
POLICY_OFFER_CACHE_MODES = f'{POLICY}:offer_cache_modes'
POLICY_CORRECT_FIXED_KEYS = f'{POLICY}:correct_fixed_keys'

# Capabilities that the driver reports to the scheduler

#: True for a back end with our driver. Operators match it in extra specs:
#: ``capabilities:rbd_volume_options='<is> True'``.
RBD_VOLUME_OPTIONS = 'rbd_volume_options'

#: The stock driver's capability for driver-assisted migrations: cluster,
#: ceph.conf, fsid, user and pool, separated by colons.
LOCATION_INFO = 'location_info'

#: The same of a back end with a data pool. The stock driver does not read it:
#: it would copy an image without its data pool.
RBD_LOCATION_INFO = 'rbd_location_info'

# RBD images

#: Suffix of a clone's name for the snapshot of its source, from Cinder.
CLONE_SNAPSHOT = '.clone_snap'
#: Suffix of the name of a source that was deleted before its clones, from
#: Cinder.
DELETED_SOURCE = '.deleted'

# These are also names of options in cinder.conf, whose values are reported.
#: The id of the cloud, see :mod:`rbd_volume_options.ownership`.
RBD_CLOUD_ID = 'rbd_cloud_id'
RBD_VOLUME_OBJECT_MAP = 'rbd_volume_object_map'
RBD_VOLUME_FEATURES = 'rbd_volume_features'
RBD_VOLUME_DATA_POOL = 'rbd_volume_data_pool'
RBD_TENANT_OPTIONS = 'rbd_tenant_options'
RBD_ALLOWED_CACHE_MODES = 'rbd_allowed_cache_modes'
RBD_CACHE_MODE_ENFORCEMENT = 'rbd_cache_mode_enforcement'

# These are also names of Ceph options, whose values are reported.
RBD_DEFAULT_FEATURES = 'rbd_default_features'

# Values of RBD_CACHE_MODE_ENFORCEMENT.
STRICT = 'strict'
LENIENT = 'lenient'

# Attachments

#: Item of a connector: what the compute host can do. A host without this item
#: ignores cache modes. See :mod:`rbd_volume_options.compute_hosts`.
CONNECTOR_HOST = 'rbd_host'
#: Item of ``connection_info['data']``: the requested cache mode. Nova stores
#: it with the block device mapping, so that it persists across restarts and is
#: used again after a migration.
CONNECTION_CACHE_MODE = 'cache_mode'
#: The same for the mode in force, which the Nova plug-in of the host writes
#: that connects the volume.
CONNECTION_CACHE_MODE_IN_FORCE = 'cache_mode_in_force'
#: The same for the keys that this host cannot apply, as a list.
CONNECTION_NOT_APPLIED = 'rbd_not_applied'

# Items of ``connection_info['data']`` of Cinder and Nova. The sizes are texts.
CONNECTION_DISCARD = 'discard'
CONNECTION_LOGICAL_BLOCK_SIZE = 'logical_block_size'
CONNECTION_PHYSICAL_BLOCK_SIZE = 'physical_block_size'

# Items of ``connection_info['data']`` that only the Nova plug-in applies.
CONNECTION_DETECT_ZEROES = 'detect_zeroes'
#: In bytes.
CONNECTION_DISCARD_GRANULARITY = 'discard_granularity'

# Items of the admin metadata of a volume. What was created is in another place
# (:mod:`rbd_volume_options.image_record`). Limits, hints and the disk have the
# names of their keys.

# Operations of a reason that attributes of a volume show.
REASON_CREATION = 'creation'
REASON_ATTACHMENT = 'attachment'
REASON_RETYPE = 'retype'
REASON_LAYOUT = 'change of layout'
#: Operation of a notice: nothing was refused.
REASON_PROPERTY = 'property'
#: Indicates that the configuration of the image is being changed, or that this
#: was interrupted. The record may differ from the image.
RECORD_CONFIGURING = 'rbd:configuring'
#: The header of a response: the driver has compared the image with the keys.
#: An API service without the extension does not send it.
HEADER_COMPARED = 'OpenStack-RBD-Compared'
#: The marker of a retype: its progress, and what is required to complete it.
#: Removed at its end.
RECORD_CONVERSION = 'rbd:conversion'
#: Its text, which can be longer than the value of an item.
MARKER_TEXTS = (RECORD_CONVERSION, *(f'rbd:conversion_{n}' for n in range(4)))
#: Indicates that a volume has a marker. Its value is the same for all retypes,
#: and the former back end for a migration, because Cinder finds volumes by the
#: value of an item only.
RECORD_MARKED = 'rbd:marked'
MARKED = 'marked'
#: The new type of a retype that may need a migration, from the API extension:
#: Cinder does not pass it to the driver.
RECORD_NEW_TYPE = 'rbd:new_type'
#: All items of a marker.
MARKER_RECORDS = (*MARKER_TEXTS, RECORD_MARKED, RECORD_NEW_TYPE)
#: During a restore: indicates that the keys of the volume were copied.
RECORD_RESTORING = 'rbd:restoring'

# The report of an audit: a JSON document that cinder-rbd-ext writes and
# Horizon reads. Horizon ignores its other fields.

#: Version of the document; a higher version may remove or rename fields.
AUDIT_VERSION = 'version'
AUDIT_THIS_VERSION = 1
AUDIT_TAKEN = 'taken'
AUDIT_FINDINGS = 'findings'
AUDIT_IMAGES = 'images'
# Fields of a finding.
AUDIT_KIND = 'kind'
AUDIT_POOL = 'pool'
AUDIT_IMAGE = 'image'
AUDIT_DETAIL = 'detail'
AUDIT_VOLUME = 'volume'
# Fields of an image.
AUDIT_NAME = 'name'
AUDIT_USED = 'used'
AUDIT_OBJECT_MAP = 'object_map'
# Values of AUDIT_OBJECT_MAP.
AUDIT_MAP_VALID = 'valid'
AUDIT_MAP_INVALID = 'invalid'
AUDIT_MAP_NONE = 'none'

# Glance

#: Type of our store, in ``enabled_backends``.
STORE_TYPE = 'rbd_objmap'

# Horizon

#: Name of the file in Horizon's folder ``enabled``.
DASHBOARD_ENABLED = '_3110_rbd_volume_options.py'

#: Prefix of the routes that Horizon's pages request, below ``/api/``.
DASHBOARD_ROUTE = 'rbd_volume_options/'


def location_in(report: Mapping[str, Any]) -> str:
    """Return the location in any back end's report; empty without one."""
    ours = report.get(RBD_LOCATION_INFO)
    return str(ours or report.get(LOCATION_INFO) or '')
