#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Run tools/test on another release of Debian, installed in a folder that is
# kept: debian.sh SUITE FOLDER CHECKOUT ARGUMENT...
# Results are in srv/results below the folder. CHECKOUT is copied to srv/tree.
# The mounts are private. Mounts and processes end with the command, or when
# the caller ends for any reason.

set -euo pipefail
suite=$1 root=$2 checkout=$3
if [[ ! ${RBD_TEST_NAMESPACE:-} ]]; then
    RBD_TEST_NAMESPACE=1 exec setpriv --pdeathsig KILL \
        unshare --mount --pid --fork --kill-child "$0" "$@"
fi
shift 3
exec 9>"$root.lock"
flock 9 # one run at a time

# Only a complete installation has the final name. The certificates are
# installed before those of the host are mounted over them: their package could
# not be installed afterwards.
if [[ ! -e $root ]]; then
    echo "installing $suite in $root"
    rm -rf "$root.partial"
    # The mirror of the machine; debootstrap does not support mirror+file.
    # shellcheck disable=SC2016 # apt-get has variables of its own
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
        grep --max-count 1 ^http || echo http://deb.debian.org/debian/)
    debootstrap --variant=minbase \
        --include=python3,python3-venv,ca-certificates \
        "$suite" "$root.partial" "$mirror" >"$root.log"
    # Do not start daemons, and do not wait for the disk.
    install -m 755 /dev/stdin "$root.partial/usr/sbin/policy-rc.d" \
        <<<$'#!/bin/sh\nexit 101'
    echo force-unsafe-io >"$root.partial/etc/dpkg/dpkg.cfg.d/unsafe-io"
    mv "$root.partial" "$root"
fi

rm -rf "$root/srv"
mkdir --parents "$root/srv/results"
cp --recursive --preserve "$checkout" "$root/srv/tree"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
# Settings for package indexes: files, and the files that variables name. Not
# folders to write to and not a cluster: these belong to the machine.
mapfile -d '' -t environ < <(env --null |
    grep -zEi '^(PIP_|UV_|SSL_CERT|REQUESTS_CA|RBD_TEST_|OS_TEST|\w+_proxy=)' |
    grep -zvE '^(PIP_CACHE_DIR|UV_CACHE_DIR|RBD_TEST_(CEPH|NAMES|RESULTS))')
files=(/etc/{hosts,pip.conf,resolv.conf,ssl/certs/ca-certificates.crt})
for file in "${files[@]}" "${environ[@]#*=}"; do
    if [[ $file == /* && -d $file ]]; then
        mkdir --parents "$root$file"
    elif [[ $file == /* && -e $file ]]; then
        mkdir --parents "$(dirname "$root$file")"
        [[ -e $root$file ]] || touch "$root$file"
    else
        continue
    fi
    mount --bind -o ro "$file" "$root$file"
done

environ+=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LANG=C.UTF-8
    XDG_CACHE_HOME=/var/cache RBD_TEST_RESULTS=/srv/results)
# First complete an interrupted installation.
chroot "$root" env -i "${environ[@]}" dpkg --configure -a
chroot "$root" dpkg-query --show python3 ceph-osd qemu-utils 2>&1 || true
exec chroot "$root" env -i "${environ[@]}" /srv/tree/tools/test "$@"
