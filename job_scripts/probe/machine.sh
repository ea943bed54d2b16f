# One look at the machine beside a job. Parameter: 1 the run directory. Read-only, ends within 15 s, exit status 0.
# Each part follows a line `@name`; a part whose source is missing is empty.
# shellcheck shell=sh

exec 2>/dev/null </dev/null
LC_ALL=C
export LC_ALL

# ob_part NAME: starts a part on a line of its own, whatever a killed program left unfinished.
ob_part() {
    printf '\n@%s\n' "$1"
}

ob_guard() {
    if command -v timeout >/dev/null; then
        timeout 5 "$@"
    else
        "$@"
    fi
}

# ob_disk PATH: the file system of a path, with its type where df can tell it (macOS uses -T for something else).
ob_disk() {
    if [ "$(uname -s)" != Darwin ]; then
        ob_guard df -PkT "$1"
        case $? in
            # Done, or ended by timeout (124, 143 with busybox): a df that hung once would hang again.
            0 | 124 | 143) return ;;
        esac
    fi
    ob_guard df -Pk "$1"
}

ob_part gpu
ob_guard nvidia-smi \
    --query-gpu=index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,power.limit \
    --format=csv,noheader,nounits

ob_part loadavg
cat /proc/loadavg || sysctl -n vm.loadavg | tr -d '{}'
ob_part uptime
cat /proc/uptime
ob_part stat
head -n 1 /proc/stat
ob_part meminfo
grep -e '^MemTotal:' -e '^MemAvailable:' /proc/meminfo

for ob_name in memory.max memory.current cpu.max; do
    ob_part "$ob_name"
    cat "/sys/fs/cgroup/$ob_name"
done
ob_part memory.stat
grep '^inactive_file ' /sys/fs/cgroup/memory.stat
ob_part cpu.stat
grep '^usage_usec ' /sys/fs/cgroup/cpu.stat

for ob_name in memory.limit_in_bytes memory.usage_in_bytes; do
    ob_part "$ob_name"
    cat "/sys/fs/cgroup/memory/$ob_name"
done
ob_part memory.stat.v1
grep '^total_inactive_file ' /sys/fs/cgroup/memory/memory.stat
for ob_name in cpu.cfs_quota_us cpu.cfs_period_us; do
    ob_part "$ob_name"
    cat "/sys/fs/cgroup/cpu/$ob_name" || cat "/sys/fs/cgroup/cpu,cpuacct/$ob_name"
done
ob_part cpuacct.usage
cat /sys/fs/cgroup/cpuacct/cpuacct.usage || cat /sys/fs/cgroup/cpu,cpuacct/cpuacct.usage

ob_part nproc
nproc || getconf _NPROCESSORS_ONLN
ob_part df.run
ob_disk "$1"
ob_part df.root
ob_disk /
exit 0
