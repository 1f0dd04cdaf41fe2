#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# Measures disks in a guest for "cinder-rbd-ext bench".
#
# It waits for a disk that begins with a job, runs fio on the disk, or the
# programs of "bench servers" on the disk that the job names, and writes the
# results to the serial console, so that the guest needs no network. See
# rbd_volume_tools/bench/guest/job.py for the format of jobs and results. It is
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

install_programs() {
    command -v fio && command -v hdparm && command -v mkfs.ext4 && return
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -q update && apt-get -qy install fio hdparm; } ||
        dnf -qy install fio hdparm || zypper -nq install fio hdparm ||
        apk add fio hdparm e2fsprogs
}

# Only known options with plain values become arguments of fio.
fio_job() { # disk, lines of the job
    disk=$1 job=$2
    set -- --name=bench --ioengine=libaio --direct=1 \
        "--filename=$root/dev/$disk" --output-format=json \
        "--output=$folder/report"
    while IFS='=' read -r name value; do
        case $name in
            end) break ;;
            rw | bs | iodepth | rwmixread | fsync | offset | size) ;;
            numjobs | thread | group_reporting) ;;
            norandommap | time_based | ramp_time | runtime) ;;
            *) name= ;;
        esac
        case $value in
            *[!0-9a-z]*) name= ;;
        esac
        if [ -z "$name" ]; then
            echo 'the job has an invalid line' >"$folder/messages"
            return 1
        fi
        set -- "$@" "--$name${value:+=$value}"
    done <<END
$job
END
    rm -f "$folder"/*
    fio "$@" >"$folder/messages" 2>&1 || return
    {
        echo "cache=$(cat "$root/sys/block/$disk/queue/write_cache")"
        echo "kernel=$(uname -r)"
        echo "fio=$(fio --version)"
        cat "$folder/report"
    } >"$folder/results"
}

seconds() { # command
    read -r before _ </proc/uptime
    "$@" || return
    read -r after _ </proc/uptime
    echo "$before $after" | awk '{print $2 - $1}'
}

drop_caches() {
    sync
    echo 3 >"$root/proc/sys/vm/drop_caches"
}

# Lines with the name of a figure and its value, in MB/s.
hdparm_read() { # name, options
    name=$1
    shift
    drop_caches
    hdparm "$@" "$root/dev/$disk" |
        awk -v name="$name" '/B\/sec/ {
            rate = $(NF - 1)
            if ($NF ~ /^k/) rate /= 1000
            print name, rate
        }'
}

# Four jobs of several processes, as in the report of CERN: the first one
# reads and writes, the others read.
fio_group() { # rand or nothing
    set -- --output-format=json --thread --group_reporting --bs=256k \
        "--direct=$direct" "--runtime=$runtime" --time_based \
        "--numjobs=$processes" "--filesize=$file_size" "--directory=$mount" \
        "--filename_format=fio.\$jobnum" \
        "--name=write" "--rw=${1}rw" \
        "--name=read2" "--rw=${1}read" \
        "--name=read3" "--rw=${1}read" \
        "--name=read4" "--rw=${1}read"
    drop_caches
    fio "$@" --output="$folder/report" && tr -d ' \n' <"$folder/report"
    echo
}

dd_pair() { # name, MiB
    flags=
    [ "$direct" = 1 ] && flags=direct,
    drop_caches
    took=$(seconds dd if=/dev/zero "of=$mount/dd" bs=1M "count=$2" \
        conv=fsync ${flags:+oflag=direct} 2>/dev/null) || return
    echo "$1_write" "$2" "$took"
    drop_caches
    took=$(seconds dd "if=$mount/dd" of=/dev/null bs=1M \
        ${flags:+iflag=direct} 2>/dev/null) || return
    echo "$1_read" "$2" "$took"
    rm "$mount/dd"
}

# The whole matrix on a disk with a file system. The job has fixed names with
# plain values: serial, format, start, direct, repetitions, runtime, processes,
# file_size, dd_small and dd_large.
matrix_job() { # lines of the job
    mount=$folder/mount
    serial='' format='' start='' direct='' repetitions='' runtime=''
    processes='' file_size='' dd_small='' dd_large=''
    while IFS='=' read -r name value; do
        case $name in
            end) break ;;
            serial | format | start | direct | repetitions | runtime) ;;
            processes | file_size | dd_small | dd_large) ;;
            *) return 1 ;;
        esac
        case $value in
            '' | *[!0-9a-z-]*) return 1 ;;
        esac
        eval "$name=\$value"
    done <<END
$1
END
    # The guest may not have noticed the new disk yet.
    tries=0 disk=
    while [ -z "$disk" ]; do
        disk=$(grep -lx "$serial" "$root"/sys/block/*/serial |
            sed 's,.*/\([^/]*\)/serial,\1,')
        [ -z "$disk" ] || break
        tries=$((tries + 1))
        if [ "$tries" -gt 120 ]; then
            echo "no disk has the serial number $serial" >&2
            return 1
        fi
        sleep 1
    done
    mkdir -p "$mount"
    if [ "$format" = 1 ]; then
        mkfs.ext4 -q -F -m 0 "$root/dev/$disk" || return
    fi
    mount -t ext4 "$root/dev/$disk" "$mount" || return
    # Servers of a group start at the same time.
    while [ "$(date +%s)" -lt "$start" ]; do
        sleep 0.1
    done
    {
        number=0
        while [ "$number" -lt "$repetitions" ]; do
            echo "repetition $number"
            echo "began $(date +%s)"
            hdparm_read hdparm_cached -T
            hdparm_read hdparm_buffered -t
            hdparm_read hdparm_direct -t --direct
            echo "fio_random $(fio_group rand)"
            echo "fio_sequential $(fio_group '')"
            dd_pair dd_small "$dd_small"
            dd_pair dd_large "$dd_large"
            number=$((number + 1))
        done
    } >"$folder/results" 2>"$folder/messages"
    umount "$mount"
}

measure() { # disk, number, lines of the job
    number_of_job=$2
    rm -f "$folder"/messages "$folder"/results "$folder"/report
    say "$number_of_job begin"
    case $3 in
        serial=*) matrix_job "$3" 2>>"$folder/messages" ;;
        *) fio_job "$1" "$3" ;;
    esac || {
        say "$number_of_job failed $(tail -n 1 "$folder/messages")"
        return
    }
    gzip -9 <"$folder/results" | base64 | while read -r line; do
        say "$number_of_job = $line"
    done
    say "$number_of_job end"
}

look() { # disk
    # Past the page cache: the job may have changed.
    first_bytes=$(
        dd "if=$root/dev/$1" bs=$JOB_BYTES count=1 iflag=direct 2>/dev/null |
            tr -d '\000'
    )
    case $first_bytes in
        "$MAGIC "*) ;;
        *) return ;;
    esac
    first=${first_bytes%%
*}
    number=${first#"$MAGIC "}
    case $number in
        '' | *[!0-9]* | "$last") return ;;
    esac
    last=$number
    measure "$1" "$number" "${first_bytes#*
}"
}

# Messages of the kernel would interrupt lines.
dmesg -n 1 2>/dev/null
folder=$(mktemp -d)
until install_programs >/dev/null 2>&1; do
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
