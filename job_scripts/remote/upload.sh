# Extracts the tar archive on standard input into a directory. Parameter: 1 the directory.
# shellcheck shell=sh

mkdir -p -- "$1" && cd -- "$1" || exit 1
exec tar -xpof -
