# Ends a job. After group.sh. Parameters: 1 the run directory, 2 the leader's process ID, 3 the container engine and
# 4 the container's name (both empty without a container), 5 seconds the engine may take, 6 checks after SIGTERM,
# 7 checks after SIGKILL, 8 seconds between two checks.
# Exit status 0 when the job is over, else 1 with a message; may be killed and repeated at any point.
# shellcheck shell=sh

ob_require_pid "$2"

if ! cd -- "$1" 2>/dev/null; then
    echo "cannot enter $1" >&2
    if ob_signal_group 0 "$2"; then
        echo "process group $2 is still alive; if it is this job's, end it with: kill -s TERM -- -$2" >&2
    fi
    exit 1
fi

ob_stop_container() {
    if [ -n "$3" ]; then
        "$3" stop -t "$5" "$4" >/dev/null 2>&1 </dev/null || :
    fi
}

# ob_wait_gone PID CHECKS SECONDS: succeeds once the group is gone.
ob_wait_gone() {
    ob_left=$2
    # Most jobs end at once; a sleep that takes no fractions fails at once instead.
    for ob_quick in 0.05 0.1 0.1 0.2; do
        ob_group_lives "$1" || return 0
        sleep "$ob_quick" 2>/dev/null || break
    done
    while ob_group_lives "$1"; do
        [ "$ob_left" -gt 0 ] || return 1
        ob_left=$((ob_left - 1))
        sleep "$3"
    done
}

# ob_mark NAME [TEXT]: a marker file; another cancel at the same time may have moved it already.
ob_mark() {
    # Not `:`, whose failed redirection would end the whole script. A full disk takes a marker without its text.
    { { printf '%s' "$2" >"$1.tmp" || printf '' >"$1.tmp"; } && mv -f "$1.tmp" "$1"; } 2>/dev/null || [ -e "$1" ] || {
        echo "cannot write $1 in the run directory" >&2
        exit 1
    }
}

if [ -e cancelled ]; then
    exit 0
fi
if [ -e exit_code ]; then
    # The job has its result and its process ID may belong to somebody else by now, but a container whose client
    # was killed goes on under its own name.
    ob_stop_container "$@"
    exit 0
fi

ob_mark cancelling "$(printf '%s\n' "$$" && ob_process_start "$$")"
ob_stop_container "$@"
if ob_group_lives "$2"; then
    ob_signal_group TERM "$2"
    if ! ob_wait_gone "$2" "$6" "$8"; then
        if ob_group_lives "$2"; then
            ob_signal_group KILL "$2"
        fi
        if ! ob_wait_gone "$2" "$7" "$8"; then
            echo "process group $2 is still present after SIGKILL: its leader may have ended without being reaped," \
                "or a process hangs in the kernel; the cancel can be tried again" >&2
            exit 1
        fi
    fi
fi
rm -f job.reserve
ob_mark cancelled ''
