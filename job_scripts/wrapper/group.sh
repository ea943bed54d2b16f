# Functions shared by the wrapper, status and cancel scripts: process groups and the identity of a leader.
# Sourced by being written before the script that needs it; runs in the run directory.
# shellcheck shell=sh

# ob_signal_group SIGNAL PID: signal the group; succeeds when it has a member, zombies included.
# dash needs the `--`, busybox ash counts it as an error although it signals, so the form is chosen with
# signal 0: a job never gets the same signal twice.
ob_signal_group() {
    if kill -s 0 -- "-$2" 2>/dev/null; then
        kill -s "$1" -- "-$2" 2>/dev/null
    else
        kill -s "$1" "-$2" 2>/dev/null
    fi
}

# ob_process_start PID: the boot and the start time of a living process on one line; fails without /proc.
ob_process_start() {
    ob_boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || return 1
    ob_stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The program name is the second field, in parentheses, and may hold blanks and parentheses itself.
    # The start time is field 22 of all, the 20th after the name.
    (
        set -f
        # shellcheck disable=SC2086  # split into fields on purpose
        set -- ${ob_stat##*) }
        [ $# -ge 20 ] && printf '%s %s\n' "$ob_boot" "${20}"
    )
}

# ob_leader_is_foreign PID: succeeds when a living leader is not the one that job.start describes.
ob_leader_is_foreign() {
    ob_recorded=$(cat job.start 2>/dev/null) || return 1
    ob_found=$(ob_process_start "$1") || return 1
    [ -n "$ob_recorded" ] && [ "$ob_found" != "$ob_recorded" ]
}

# ob_cancel_goes_on: succeeds while the cancel that wrote `cancelling` runs; fails without /proc.
ob_cancel_goes_on() {
    { read -r ob_canceller && read -r ob_began || [ -n "$ob_began" ]; } 2>/dev/null <cancelling || return 1
    case $ob_canceller in
        '' | *[!0-9]*) return 1 ;;
    esac
    ob_found=$(ob_process_start "$ob_canceller") && [ "$ob_found" = "$ob_began" ]
}

# ob_group_lives PID: succeeds while the job's own group has a member.
ob_group_lives() {
    ob_signal_group 0 "$1" && ! ob_leader_is_foreign "$1"
}

# ob_require_pid PID: ends the script with status 1 for anything but a process ID above 1, since group 0 is the
# caller's own and 1 is init.
ob_require_pid() {
    case $1 in
        '' | *[!0-9]* | 0* | 1) exit 1 ;;
    esac
}
