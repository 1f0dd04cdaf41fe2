#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Shared by tools/test and tools/sandbox: creates a virtual environment with
# the Python programs that they use.

UV='uv==0.13.8'

function fail {
    echo "tools/${0##*/}: $1" >&2
    exit 1
}

# Debian ships Python's venv without ensurepip.
function need_venv {
    if /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; then
        return
    fi
    [[ $EUID == 0 ]] || fail 'python3-venv is missing; install it as root'
    # The package has no daemon, so no policy against daemons is needed.
    local -a install=(apt-get --quiet=2 -o Dpkg::Use-Pty=0 install --yes
        --no-install-recommends python3-venv)
    export DEBIAN_FRONTEND=noninteractive
    { "${install[@]}" || { apt-get --quiet=2 update && "${install[@]}"; }; } \
        >/dev/null || fail 'python3-venv could not be installed'
}

# need_programs FOLDER CONSTRAINTS DISTRIBUTION...
# The environment is complete when it contains its stamp. Commands that start at
# the same time wait for the first one.
function need_programs {
    local boot=$1 pins=$2 wanted
    shift 2
    wanted="$UV $* $(cksum <"$pins")"
    mkdir --parents "$(dirname "$boot")"
    (
        flock 9
        if [[ -e $boot/stamp && $(<"$boot/stamp") == "$wanted" ]]; then
            exit
        fi
        need_venv
        /usr/bin/python3 -m venv --clear "$boot"
        "$boot/bin/pip" --quiet --disable-pip-version-check install \
            --no-cache-dir "$UV"
        "$boot/bin/uv" pip install --quiet --compile-bytecode \
            --python "$boot/bin/python" --constraints "$pins" "$@"
        echo "$wanted" >"$boot/stamp"
    ) 9>"$boot.lock"
}
