# Writes entries of a directory as a tar archive; nothing at all when none is there. Parameters: 1 the directory, then
# its entries, each as `.` or `./<path>`. After the functions `ob_tar ENTRY...`, which runs `tar` with the exclusions,
# and `ob_each ENTRY... -exec COMMAND... {} +`, which runs `find` with them; `ob_excludes` is `no` without any.
# shellcheck shell=sh disable=SC2154

[ -d "$1" ] || {
    echo "$1 does not exist" >&2
    exit 1
}
cd -- "$1" || exit 1
shift

ob_left=$#
while [ "$ob_left" -gt 0 ]; do
    ob_entry=$1
    shift
    if [ -e "$ob_entry" ] || [ -L "$ob_entry" ]; then
        set -- "$@" "$ob_entry"
    fi
    ob_left=$((ob_left - 1))
done
[ $# -gt 0 ] || exit 0

COPYFILE_DISABLE=1
export COPYFILE_DISABLE
if [ "$ob_excludes" = no ] || tar --help 2>&1 | grep -q -e '--exclude'; then
    ob_tar "$@"
    exit
fi
# A small tar cannot exclude: it is told every name, which must fit one command line, since two archives are no archive.
ob_batches=$(ob_each "$@" -exec sh -c 'echo one' sh {} + | wc -l)
if [ "$ob_batches" -gt 1 ]; then
    echo "the tar of the target cannot exclude files, and there are too many to name them all" >&2
    exit 1
fi
ob_each "$@" -exec tar -cf - --no-recursion -- {} +
