#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# A stand-in for the functions of DevStack that the plug-in calls: the same
# names and arguments, and the same files in the end. What reaches beyond
# files is written to $CALLS instead.

# _ini_awk file section option program...
#
# Runs an awk program over a file: `inside` is true on lines of the section,
# `ours` on lines of the option in it, `header` on the section's first line.
function _ini_awk {
    local file=$1
    local section=$2
    local option=$3
    local program=$4
    shift 4
    awk -v section="[$section]" -v option="$option" "$@" '
        { header = ours = 0 }
        /^\[/ { inside = header = ($0 == section) }
        inside && index($0, option) == 1 {
            rest = substr($0, length(option) + 1)
            ours = rest ~ /^[ \t]*=/
            match($0, /=[ \t]*/)
            prefix = substr($0, 1, RSTART + RLENGTH - 1)
            current = substr($0, RSTART + RLENGTH)
        }
        '"$program" "$file"
}

# _ini_change file section option program...
function _ini_change {
    local changed
    changed=$(_ini_awk "$@"; echo .)
    printf '%s' "${changed%.}" > "$1"
}

function iniget {
    _ini_awk "$1" "$2" "$3" 'ours { print current }' | xargs -r -d '\n' echo
}

function iniget_multiline {
    iniget "$@"
}

function iniset {
    local file=$1
    local section=$2
    local option=$3
    local value=$4
    if ! grep -qFx "[$section]" "$file" 2>/dev/null; then
        printf '\n[%s]\n' "$section" >> "$file"
    fi
    if [[ -n "$(_ini_awk "$file" "$section" "$option" 'ours')" ]]; then
        _ini_change "$file" "$section" "$option" \
            'ours { print prefix value; next } 1' -v value="$value"
    else
        iniadd_literal "$file" "$section" "$option" "$value"
    fi
}

function iniadd_literal {
    _ini_change "$1" "$2" "$3" \
        '1; header { print option " = " value }' -v value="$4"
}

function inidelete {
    _ini_change "$1" "$2" "$3" '!ours'
}

function is_service_enabled {
    local service
    for service in "$@"; do
        if [[ ",$ENABLED_SERVICES," == *",$service,"* ]]; then
            return 0
        fi
    done
    return 1
}

function trueorfalse {
    case "${!2:-}" in
        1 | yes | Yes | YES | true | True | TRUE) echo True ;;
        0 | no | No | NO | false | False | FALSE) echo False ;;
        *) echo "$1" ;;
    esac
}

function define_plugin {
    :
}

function plugin_requires {
    :
}

function test_with_retry {
    timeout "${3:-10}" sh -c "while ! $1; do sleep ${4:-0.5}; done" \
        || die "$LINENO" "$2"
}

function die {
    shift
    echo "[ERROR] $*" >&2
    exit 1
}
