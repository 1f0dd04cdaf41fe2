#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Runs one phase of the plug-in as DevStack does: run_phase.sh TREE MODE PHASE
#
# TREE is a scratch tree in the place of the file system. DEVSTACK_DIR names
# a checkout of DevStack whose own functions are to be used in place of the
# stand-in's; what would reach beyond the tree is still only written down.

# shellcheck disable=SC2034,SC2154  # the plug-in's variables, and DevStack's

TREE=$1
CALLS=$TREE/calls
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "$here/../.." && pwd)

# What stack.sh and the files of lib/ have set by then.
declare -A GITDIR
GITDIR["devstack-plugin-ceph"]=$TREE/devstack-plugin-ceph
GITDIR["rbd-volume-options"]=$checkout
PLUGINS=,devstack-plugin-ceph,rbd-volume-options
DEVSTACK_PLUGINS=${DEVSTACK_PLUGINS-$PLUGINS}
ALL=c-api,c-sch,c-vol,g-api,n-api,n-cpu,horizon,tempest
ENABLED_SERVICES=${ENABLED_SERVICES-$ALL}
CINDER_CONF=$TREE/etc/cinder/cinder.conf
CINDER_BIN_DIR=$TREE/bin
GLANCE_API_CONF=$TREE/etc/glance/glance-api.conf
GLANCE_BIN_DIR=$TREE/bin
NOVA_CONF=$TREE/etc/nova/nova.conf
NOVA_CPU_CONF=$TREE/etc/nova/nova-cpu.conf
HORIZON_DIR=$TREE/horizon
TEMPEST_CONFIG=$TREE/tempest/etc/tempest.conf
TEMPEST_PLUGINS=${TEMPEST_PLUGINS:-0}
GLOBAL_VENV=True
DEVSTACK_VENV=$TREE/venv
REGION_NAME=RegionOne
SERVICE_TIMEOUT=${SERVICE_TIMEOUT:-10}
PATH=$TREE/bin:$PATH
export CALLS

if [[ -n "${DEVSTACK_DIR:-}" ]]; then
    TOP_DIR=$DEVSTACK_DIR
    # shellcheck source=/dev/null
    source "$DEVSTACK_DIR/functions-common"
    # shellcheck source=/dev/null
    source "$DEVSTACK_DIR/inc/ini-config"
else
    # shellcheck source=tests/devstack/stand_in.sh
    source "$here/stand_in.sh"
fi

function setup_develop {
    echo "setup_develop $*" >> "$CALLS"
}

function pip_uninstall {
    echo "pip_uninstall $* from ${PIP_VIRTUAL_ENV:-the system}" >> "$CALLS"
}

# Of inc/async, which needs a stack.sh that runs.
function async_wait {
    echo "async_wait $* before $(wc -c < "$NOVA_CONF")" >> "$CALLS"
}

source "$checkout/devstack/override-defaults"
source "$checkout/devstack/settings"
for name in TEMPEST_PLUGINS GLANCE_ENABLE_MULTIPLE_STORES; do
    echo "$name=${!name:-}" >> "$CALLS"
done

if [[ "$2" == "stack" ]]; then
    # These are stack.sh's own; unstack.sh and clean.sh have neither.
    set -o errexit
    function echo_summary {
        echo "$@"
    }
fi

source "$checkout/devstack/plugin.sh" "$2" "${3:-}"
