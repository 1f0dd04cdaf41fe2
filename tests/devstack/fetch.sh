#!/usr/bin/env bash
# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
