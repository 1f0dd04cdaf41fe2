#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Fetches a plug-in with DevStack's own functions, and loads its settings as
# stack.sh does: fetch.sh DEST ARGUMENTS-OF-enable_plugin

# shellcheck disable=SC2034  # the variables of DevStack

set -o errexit

DEST=$1
TOP_DIR=$DEVSTACK_DIR
declare -A GITREPO GITBRANCH GITDIR
DEVSTACK_PLUGINS=
ENABLED_SERVICES=c-vol,tempest
GIT_DEPTH=0
GIT_TIMEOUT=0
OFFLINE=False
ERROR_ON_CLONE=False
HOME=$DEST/home
mkdir -p "$HOME"

# shellcheck source=/dev/null
source "$DEVSTACK_DIR/functions-common"

# It makes a clone safe for all users of the machine.
function sudo {
    echo "sudo $*"
}

# shellcheck disable=SC2086  # the arguments of a line in local.conf
enable_plugin $2
fetch_plugins
load_plugin_settings
echo "fetched ${GITDIR[rbd-volume-options]}: $TEMPEST_PLUGINS"
