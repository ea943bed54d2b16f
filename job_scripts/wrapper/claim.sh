# Makes a run directory ours. Parameters: 1 the directory, 2 the owner, one line. Prints `claimed` or `taken`.
# shellcheck shell=sh

mkdir -p -- "$1" && cd -- "$1" || exit 1

if (
    set -C
    printf '%s\n' "$2" >.claim
) 2>/dev/null; then
    echo claimed
elif [ ! -e .claim ]; then
    echo "cannot create .claim in $1" >&2
    exit 1
elif [ "$(cat .claim)" = "$2" ]; then
    echo claimed
else
    echo taken
fi
