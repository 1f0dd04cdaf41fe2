#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# Measures disks in a guest for the path "guest" of "cinder-rbd-ext bench".
#
# It waits for a disk that begins with a job, runs fio on the disk, and writes
# the results to the serial console, so that the guest needs no network. See
# rbd_bench/guest/job.py for the format of jobs and results. It is
# user data of a server, or a program of its boot image. An argument replaces
# the root directory in tests.

MAGIC=cinder-rbd-ext-bench
JOB_BYTES=4096
root=${1:-}
last=

for console in ttyS0 ttyAMA0 hvc0 console; do
    console=$root/dev/$console
    [ -e "$console" ] && (echo >>"$console") 2>/dev/null && break
done

say() { # words
    echo "$MAGIC: $*" >>"$console"
}

install_fio() {
    command -v fio && return
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -q update && apt-get -qy install fio; } ||
        dnf -qy install fio || zypper -nq install fio || apk add fio
}

# Only known options with plain values become arguments of fio.
measure() { # disk, number, lines of the job
    disk=$1 number=$2 job=$3
    set -- --name=bench --ioengine=libaio --direct=1 --per_job_logs=0 \
        "--filename=$root/dev/$disk" --output-format=json \
        "--output=$folder/report" "--write_iops_log=$folder/log"
    while IFS='=' read -r name value; do
        case $name in
            end) break ;;
            rw | bs | iodepth | rwmixread | fsync | offset | size) ;;
            numjobs | thread | group_reporting) ;;
            norandommap | time_based | ramp_time | runtime | log_avg_msec) ;;
            *) name= ;;
        esac
        case $value in
            *[!0-9a-z]*) name= ;;
        esac
        if [ -z "$name" ]; then
            say "$number failed the job has an invalid line"
            return
        fi
        set -- "$@" "--$name${value:+=$value}"
    done <<END
$job
END
    rm -f "$folder"/*
    if ! fio "$@" >"$folder/messages" 2>&1; then
        say "$number failed fio: $(tail -n 1 "$folder/messages")"
        return
    fi
    say "$number begin"
    {
        echo "cache=$(cat "$root/sys/block/$disk/queue/write_cache")"
        echo "kernel=$(uname -r)"
        echo "fio=$(fio --version)"
        cat "$folder/report"
        cat "$folder"/log_iops*
    } | gzip -9 | base64 | while read -r line; do
        say "$number = $line"
    done
    say "$number end"
}

look() { # disk
    # Past the page cache: the job may have changed.
    found=$(
        dd "if=$root/dev/$1" bs=$JOB_BYTES count=1 iflag=direct 2>/dev/null |
            tr -d '\000'
    )
    case $found in
        "$MAGIC "*) ;;
        *) return ;;
    esac
    first=${found%%
*}
    number=${first#"$MAGIC "}
    case $number in
        '' | *[!0-9]* | "$last") return ;;
    esac
    last=$number
    measure "$1" "$number" "${found#*
}"
}

# Messages of the kernel would interrupt lines.
dmesg -n 1 2>/dev/null
folder=$(mktemp -d)
until install_fio >/dev/null 2>&1; do
    say 'failed fio is not installed and could not be installed'
    sleep 30
done
say 'ready'
while :; do
    for path in "$root"/sys/block/vd* "$root"/sys/block/sd*; do
        [ -e "$path" ] && look "${path##*/}"
    done
    sleep 1
done
