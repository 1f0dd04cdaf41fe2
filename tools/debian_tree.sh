#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Functions for a tree of another release of Debian, in which tools/sandbox and
# tools/test run (tools/runner/debian.sh). The caller has a mount namespace.

# need_tree SUITE ROOT [PACKAGE...]: install the release and more packages,
# unless it is installed. The caller locks ROOT.lock.
function need_tree {
    local suite=$1 root=$2 mirror
    shift 2
    # Only a complete installation has the final name.
    [[ ! -e $root ]] || return 0
    echo "installing $suite in $root"
    rm -rf "$root.partial"
    # The mirror of the machine; debootstrap does not support mirror+file.
    # shellcheck disable=SC2016 # apt-get has variables of its own
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
        grep --max-count 1 ^http || echo http://deb.debian.org/debian/)
    # The certificates now: their package could not be installed after those of
    # the machine are mounted over them.
    # The script of all these releases: debootstrap of Debian 12 does not know
    # the name forky.
    debootstrap --variant=minbase \
        --include=python3,python3-venv,ca-certificates \
        "$suite" "$root.partial" "$mirror" \
        /usr/share/debootstrap/scripts/sid >"$root.log"
    # The lists of testing expire after a week, which a mirror may miss.
    echo 'Acquire::Check-Valid-Until "false";' \
        >"$root.partial/etc/apt/apt.conf.d/expired"
    # Do not start daemons, and do not wait for the disk.
    install -m 755 /dev/stdin "$root.partial/usr/sbin/policy-rc.d" \
        <<<$'#!/bin/sh\nexit 101'
    echo force-unsafe-io >"$root.partial/etc/dpkg/dpkg.cfg.d/unsafe-io"
    # Packages' scripts require /proc, which must not remain mounted.
    # shellcheck disable=SC2016 # The variables belong to the inner shell.
    (($# == 0)) || DEBIAN_FRONTEND=noninteractive \
        unshare --mount --propagation private -- sh -euc '
            mount -t proc proc "$0/proc"
            chroot "$0" apt-get update
            chroot "$0" apt-get install --yes --no-install-recommends "$@"
            ' "$root.partial" "$@" >>"$root.log"
    mv "$root.partial" "$root"
}

# mount_once OPTION... SOURCE TARGET
function mount_once {
    mountpoint --quiet "${*: -1}" || mount "$@"
}

# mount_tree ROOT [FOLDER...]: mount what programs in the tree need, and
# folders of the machine at their own paths; idempotent. Sets environ to the
# settings for package indexes.
function mount_tree {
    local root=$1 path
    local -a files
    shift
    # A root that is a mount, as programs in it that create namespaces require.
    mount_once --bind "$root" "$root"
    mount_once -t proc proc "$root/proc"
    mount_once --rbind /sys "$root/sys"
    mount_once --rbind /dev "$root/dev"
    for path; do
        mkdir --parents "$root$path"
        mount_once --bind "$path" "$root$path"
    done
    # Settings for package indexes: files, and the files that variables name.
    # Not folders to write to: these belong to the machine.
    local ours='PIP_|UV_|SSL_CERT|REQUESTS_CA|RBD_TEST_|OS_TEST|\w+_proxy='
    local but='(PIP|UV)_CACHE_DIR|RBD_TEST_(NAMES|RESULTS)'
    mapfile -d '' -t environ < <(env --null |
        grep --null-data --extended-regexp --ignore-case "^($ours)" |
        grep --null-data --extended-regexp --invert-match "^($but)")
    files=(/etc/{hosts,pip.conf,resolv.conf,ssl/certs/ca-certificates.crt})
    # The keys of a cluster are next to its ceph.conf.
    [[ ! ${RBD_TEST_CEPH_CONF:-} ]] ||
        files+=("$(dirname "$RBD_TEST_CEPH_CONF")")
    for path in "${files[@]}" "${environ[@]#*=}"; do
        if [[ $path == /* && -d $path ]]; then
            mkdir --parents "$root$path"
        elif [[ $path == /* && -e $path ]]; then
            mkdir --parents "$(dirname "$root$path")"
            [[ -e $root$path ]] || touch "$root$path"
        else
            continue
        fi
        mount_once --bind -o ro "$path" "$root$path"
    done
}
