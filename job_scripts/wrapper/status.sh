# How a job stands. Parameters: 1 the run directory, 2 the leader's process ID. After group.sh.
# Prints `running`, `exited CODE`, `cancelled` or `lost`; ` group-alive` follows where the process group lives on
# although the job is over or its directory is gone.
# shellcheck shell=sh

ob_require_pid "$2"

if ! cd -- "$1" 2>/dev/null; then
    if ob_signal_group 0 "$2"; then
        echo 'lost group-alive'
    else
        echo lost
    fi
    exit 0
fi

# Once, and before any marker is looked at: a cancel that completes in between must not read as lost.
ob_alive=no
if ob_group_lives "$2"; then
    ob_alive=yes
fi
# A job that was told to end may have its exit code, and its group be gone, before its cancel says so.
ob_ending=$ob_alive
if [ -e cancelling ] && ob_cancel_goes_on; then
    ob_ending=yes
fi

if [ -e cancelled ]; then
    echo cancelled
elif [ -e cancelling ] && [ "$ob_ending" = yes ]; then
    echo running
elif [ -e exit_code ]; then
    ob_code=$(cat exit_code) || exit 1
    # A leader that is still there has only not been reaped yet; without one it is a child that outlives the job.
    if [ "$ob_alive" = yes ] && ! kill -s 0 "$2" 2>/dev/null && ob_group_lives "$2"; then
        echo "exited $ob_code group-alive"
    else
        echo "exited $ob_code"
    fi
elif [ -e cancelling ]; then
    echo cancelled
elif [ "$ob_alive" = yes ]; then
    echo running
else
    echo lost
fi
