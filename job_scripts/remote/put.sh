# Replaces a small file as a whole. Parameters: 1 the file, 2 its directory, 3 the content.
# shellcheck shell=sh

if [ -d "$1" ]; then
    echo "$1 is a directory" >&2
    exit 1
fi
ob_part=$1.$$.tmp
mkdir -p -- "$2" || exit 1
if printf '%s' "$3" >"$ob_part" && mv -f -- "$ob_part" "$1"; then
    exit 0
fi
rm -f -- "$ob_part"
exit 1
