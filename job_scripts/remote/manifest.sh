# Lists regular files with their SHA-256 as NUL-ended records `<64 hex digits> ./<path>`; a file that cannot be read
# gives the record `unreadable <path>`. Parameters: 1 the directory, then its entries, each as `.` or `./<path>`.
# After a function `ob_find ENTRY COMMAND...` that runs `find` with the caller's exclusions.
# shellcheck shell=sh disable=SC2016

[ -d "$1" ] || {
    echo "$1 does not exist" >&2
    exit 1
}
cd -- "$1" || exit 1
shift

if command -v sha256sum >/dev/null; then
    ob_sum=sha256sum
elif command -v shasum >/dev/null; then
    ob_sum='shasum -a 256'
else
    echo "sha256sum is not installed on the target" >&2
    exit 1
fi

# Hashed through standard input: the tools escape odd names when they print them.
for ob_entry; do
    if [ -e "$ob_entry" ] || [ -L "$ob_entry" ]; then
        ob_find "$ob_entry" sh -c '
            for ob_file; do
                if ob_line=$($0 <"$ob_file"); then
                    printf "%s %s\000" "${ob_line%% *}" "$ob_file"
                else
                    printf "unreadable %s\000" "$ob_file"
                fi
            done' "$ob_sum" || exit 1
    fi
done
