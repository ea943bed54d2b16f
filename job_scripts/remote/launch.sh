# Starts a detached job. Parameters: 1 the run directory, 2 the leader's script, 3 a token of this start, then the
# names of the secrets, whose values stand on standard input, one a line in the same order.
# Prints the leader's process ID. `.launch` keeps the token, for a caller whose connection broke before the answer.
# shellcheck shell=sh

ob_dir=$1 ob_leader=$2 ob_token=$3
shift 3

for ob_name; do
    IFS= read -r ob_value || {
        echo "the secret for $ob_name did not arrive" >&2
        exit 1
    }
    export "$ob_name=$ob_value"
done
unset ob_value

mkdir -p -- "$ob_dir" && cd -- "$ob_dir" || exit 1
rm -f exit_code cancelling cancelled job.pid job.start .launch || exit 1
: >job.log || exit 1
for ob_name in setsid nohup; do
    command -v "$ob_name" >/dev/null || {
        echo "$ob_name is not installed on the target" >&2
        exit 1
    }
done
printf '%s\n' "$ob_token" >.launch || exit 1

setsid nohup sh -c "$ob_leader" >job.log 2>&1 </dev/null &
ob_pid=$!

# Until the leader is there its group is not: a look at the job would take it for lost.
ob_left=500
while [ ! -s job.pid ] && [ "$ob_left" -gt 0 ] && kill -s 0 "$ob_pid" 2>/dev/null; do
    ob_left=$((ob_left - 1))
    sleep 0.02 2>/dev/null || sleep 1
done
if [ -s job.pid ]; then
    cat job.pid
else
    echo "$ob_pid"
fi
