# Prints a part of a file that may still grow. Parameters: 1 the file, 2 the first byte, counted from 1, 3 how many.
# A missing file and a part past the end print nothing.
# shellcheck shell=sh

[ -e "$1" ] || exit 0
if [ ! -f "$1" ] || [ ! -r "$1" ]; then
    echo "cannot read $1" >&2
    exit 1
fi
tail -c "+$2" <"$1" | head -c "$3"
