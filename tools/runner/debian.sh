#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Run tools/test on another release of Debian, installed in a folder that is
# kept: debian.sh SUITE FOLDER CHECKOUT ARGUMENT...
# Results are in srv/results below the folder. CHECKOUT is copied to srv/tree.
# The mounts are private. Mounts and processes end with the command, or when
# the caller ends for any reason.

set -euo pipefail
# shellcheck source=tools/debian_tree.sh
. "$(dirname "$0")/../debian_tree.sh"
suite=$1 root=$2 checkout=$3
if [[ ! ${RBD_TEST_NAMESPACE:-} ]]; then
    RBD_TEST_NAMESPACE=1 exec setpriv --pdeathsig KILL \
        unshare --mount --pid --fork --kill-child "$0" "$@"
fi
shift 3
exec 9>"$root.lock"
flock 9 # one run at a time

need_tree "$suite" "$root"

rm -rf "$root/srv"
mkdir --parents "$root/srv/results"
cp --recursive --preserve "$checkout" "$root/srv/tree"
# A cluster has the same path outside.
mount_tree "$root" /var/tmp

environ+=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LANG=C.UTF-8
    XDG_CACHE_HOME=/var/cache RBD_TEST_RESULTS=/srv/results)
# First complete an interrupted installation.
chroot "$root" env -i "${environ[@]}" dpkg --configure -a
chroot "$root" dpkg-query --show python3 ceph-osd qemu-utils 2>&1 || true
exec chroot "$root" env -i "${environ[@]}" /srv/tree/tools/test "$@"
