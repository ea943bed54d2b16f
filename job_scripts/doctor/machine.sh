# What a machine has for a job, before there is one. Parameter: 1 the work directory, from the home unless absolute; it
# need not exist. Read-only, exit status 0. Each part follows a line `@name`; what is missing leaves its part empty.
# Stands before `probe/machine.sh` and leaves it the nearest directory that exists as its parameter.
# shellcheck shell=sh

ob_note() {
    printf '\n@%s\n%s\n' "$1" "$2"
}

case $1 in
    /*) ;;
    [~]) set -- "$HOME" ;;
    [~]/*) set -- "$HOME/${1#??}" ;;
    *) set -- "$HOME/$1" ;;
esac
while [ ! -d "$1" ]; do
    case $1 in
        */*[!/]*) ;;
        *) break ;;
    esac
    set -- "${1%/*}"
    [ -n "$1" ] || set -- /
done
ob_note directory "$1"
if [ -w "$1" ]; then
    ob_note writable yes
else
    ob_note writable no
fi
ob_note system "$(uname -sm 2>/dev/null)"

ob_missing=
for ob_name in tar find setsid nohup; do
    command -v "$ob_name" >/dev/null 2>&1 || ob_missing="$ob_missing $ob_name"
done
command -v sha256sum >/dev/null 2>&1 || command -v shasum >/dev/null 2>&1 || ob_missing="$ob_missing sha256sum"
ob_note missing "${ob_missing# }"

# ob_smi ARGUMENT...: a driver in trouble lets nvidia-smi hang.
ob_smi() {
    if command -v timeout >/dev/null 2>&1; then
        timeout 5 nvidia-smi "$@" 2>/dev/null </dev/null
    else
        nvidia-smi "$@" 2>/dev/null </dev/null
    fi
}
if command -v nvidia-smi >/dev/null 2>&1; then
    ob_note driver "$(ob_smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
    ob_note cuda "$(ob_smi | sed -n 's/.*CUDA Version: *\([0-9][0-9.]*\).*/\1/p' | head -n 1)"
fi
