# Can a container engine be used, is an image there, and would a container see GPUs? Parameters: 1 the engine, 2 the
# image. Read-only, exit status 0. Each part follows a line `@name`.
# shellcheck shell=sh

exec </dev/null
ob_note() {
    printf '\n@%s\n%s\n' "$1" "$2"
}

if ! command -v "$1" >/dev/null 2>&1; then
    ob_note engine absent
    exit 0
fi
# Podman has no daemon: its version says nothing about its store
ob_check=version
[ "$1" != podman ] || ob_check=info
if ob_out=$("$1" "$ob_check" 2>&1); then
    ob_note engine usable
    ob_note version "$("$1" version --format '{{.Client.Version}}' 2>/dev/null)"
else
    ob_note engine refused
    ob_note reason "$(printf '%s\n' "$ob_out" | tail -n 1)"
    exit 0
fi
if "$1" image inspect -- "$2" >/dev/null 2>&1; then
    ob_note image there
else
    ob_note image absent
fi
ob_found=
for ob_name in nvidia-container-runtime-hook nvidia-container-cli nvidia-ctk; do
    command -v "$ob_name" >/dev/null 2>&1 && ob_found="$ob_found $ob_name"
done
for ob_name in /etc/cdi/*nvidia* /var/run/cdi/*nvidia*; do
    [ -f "$ob_name" ] && ob_found="$ob_found $ob_name"
done
ob_note nvidia "${ob_found# }"
