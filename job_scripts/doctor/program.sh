# Is a program there, and what does a Python beside it say? Parameters: 1 the program: a path (`~/` is the home) or a name
# on PATH; 2 a Python in the same forms, or empty; 3 its code. Read-only, exit status 0. Each part follows a line `@name`.
# shellcheck shell=sh

exec </dev/null
ob_note() {
    printf '\n@%s\n%s\n' "$1" "$2"
}

# ob_find PROGRAM: where it is; nothing when it is not there or cannot be run.
ob_find() {
    ob_path=$1
    case $ob_path in
        [~]/*) ob_path=$HOME/${ob_path#??} ;;
    esac
    case $ob_path in
        */*) [ -f "$ob_path" ] && [ -x "$ob_path" ] && printf '%s\n' "$ob_path" ;;
        *) command -v -- "$ob_path" ;;
    esac
}

ob_note program "$(ob_find "$1")"
if [ -n "$2" ]; then
    ob_python=$(ob_find "$2")
    ob_note python "$ob_python"
    [ -z "$ob_python" ] || ob_note answer "$("$ob_python" -c "$3" 2>/dev/null)"
fi
