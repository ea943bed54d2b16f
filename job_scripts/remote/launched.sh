# Finds a job whose start got no answer. Parameters: 1 the run directory, 2 the token of that start, 3 how often to
# look, 4 seconds between two looks. Prints the leader's process ID, or `none` when nothing was started.
# shellcheck shell=sh

cd -- "$1" 2>/dev/null || {
    echo none
    exit 0
}
ob_left=$3
while [ "$(cat .launch 2>/dev/null)" = "$2" ]; do
    # The leader writes it as its first act.
    if [ -s job.pid ]; then
        cat job.pid
        exit 0
    fi
    [ "$ob_left" -gt 0 ] || break
    ob_left=$((ob_left - 1))
    sleep "$4"
done
echo none
