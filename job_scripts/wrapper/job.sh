# The detached job's leader. Parameter: 1 the job's own script. Runs in the run directory, after group.sh.
# shellcheck shell=sh

printf '%s\n' "$$" >job.pid.tmp && mv -f job.pid.tmp job.pid
if ob_process_start "$$" >job.start.tmp; then
    mv -f job.start.tmp job.start
else
    rm -f job.start.tmp
fi

# Room for the exit code and the record of the end, kept from a job that fills the disk.
dd if=/dev/zero of=job.reserve bs=4096 count=4 2>/dev/null || :

# The script is evaluated, not pasted: a comment, a here-document or a syntax error at its end cannot take
# the rest of the wrapper with it.
(
    eval "$1"
)
ob_code=$?

rm -f job.reserve
printf '%s\n' "$ob_code" >exit_code.tmp && mv -f exit_code.tmp exit_code
exit "$ob_code"
