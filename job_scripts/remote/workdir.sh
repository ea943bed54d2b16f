# Creates the work directory and prints its physical path. Parameter: 1 the directory, relative to the home unless
# absolute; a leading `~/` is the home too.
# shellcheck shell=sh disable=SC2088
# (the tilde is compared, not expanded)

case $1 in
    /*) ob_dir=$1 ;;
    '~') ob_dir=${HOME:-.} ;;
    '~/'*) ob_dir=${HOME:-.}/${1#'~/'} ;;
    *) ob_dir=${HOME:-.}/$1 ;;
esac

mkdir -p -- "$ob_dir" && cd -- "$ob_dir" && pwd -P
