"""What text runs on a machine behind SSH, and where in its output does the answer begin?

The remote command is one fixed line that every login shell reads alike (POSIX shells, fish, csh): it starts `sh`,
which takes the script from the first line of standard input. Start-up files may print what they like: an answer
stands after a mark that is new for each command, the exit status after a second one on standard error.
"""

from __future__ import annotations

import os
import posixpath
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.errors import CommandError, ProtocolError
from overbrainer_core.executors.scripts import job_wrapper, parse_manifest, parse_pid, shell_text
from overbrainer_core.shell import quote
from overbrainer_core.text import escape_controls
from overbrainer_core.transfers.manifest import ManifestEntry

COMMAND = """exec sh -c 'IFS= read -r ob_script && eval "$(printf %b "$ob_script")"'"""
"""The remote command. Without a backslash, an inner single quote, `!` or line break it means the same everywhere."""

_UNREADABLE = re.compile(rb"(?:\A|\0)unreadable ([^\0]*)\0")
_CHANGED = re.compile(rb"tar: .*: (file changed as we read it|File removed before we read it)")
_SHOWN_CHARS = 100


def new_mark() -> str:
    """A word that no output holds by chance."""
    return f"overbrainer-{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedScript:
    """A script for `COMMAND`, wrapped so that its output and its exit status can be told from all other output."""

    script: str
    mark: str = field(default_factory=new_mark)

    def line(self) -> bytes:
        """The first line of standard input."""
        mark = quote(self.mark)
        text = (
            f"printf '%s\\n' {mark}\nprintf '%s\\n' {mark} >&2\n"
            # The parentheses stand alone: a script may end in a comment.
            f"(\n{self.script}\n)\n"
            f"printf '\\n%s %s\\n' {mark} \"$?\" >&2"
        )
        return os.fsencode(text.replace("\\", "\\\\").replace("\n", "\\n")) + b"\n"

    @property
    def start(self) -> bytes:
        """The line after which both outputs are the script's own."""
        return f"{self.mark}\n".encode()

    def read_stderr(self, stderr: bytes) -> tuple[int | None, bytes]:
        """The exit status, None when the script did not come to its end, and what it wrote on standard error."""
        found = re.search(rb"\n" + self.mark.encode() + rb" (\d{1,3})\n", stderr)
        own = stderr[: found.start()] if found else stderr
        begin = own.find(self.start)
        own = own[begin + len(self.start) :] if begin >= 0 else own
        return (int(found[1]) if found else None), own


def workdir_script(workdir: str) -> str:
    """Creates the work directory and prints its physical path, for `parse_workdir`."""
    return shell_text([workdir], "remote/workdir.sh")


def parse_workdir(output: bytes) -> str:
    """The absolute path that a work directory script printed.

    Raises:
        ProtocolError: it is none.
    """
    shown = escape_controls(output.decode("utf-8", errors="backslashreplace").strip())[:_SHOWN_CHARS]
    try:
        path = output.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        raise ProtocolError(f"the work directory {shown} is not valid UTF-8") from None
    if not path.startswith("/"):
        raise ProtocolError(f'the work directory resolved to "{shown}"')
    return path


def launch_script(job: Spawn, token: str) -> str:
    """Starts a job; the values of its secrets follow on standard input, one a line. Prints its process ID."""
    names = [secret.name for secret in job.secrets]
    return shell_text([job.directory, job_wrapper(job.script), token, *names], "remote/launch.sh")


def launched_script(directory: str, token: str, *, looks: int, pause_s: float) -> str:
    """Prints the process ID of the job that the start of this token started, or that there is none."""
    return shell_text([directory, token, str(looks), f"{pause_s:g}"], "remote/launched.sh")


def parse_launched(output: bytes) -> int | None:
    """The process ID that a launched script printed; None when nothing was started."""
    return None if output.strip() == b"none" else parse_pid(output)


def read_script(path: str, offset: int, limit: int) -> str:
    """Prints at most `limit` bytes of a file from `offset`."""
    return shell_text([path, str(offset + 1), str(limit)], "remote/read.sh")


def put_script(path: str, text: str) -> str:
    """Replaces a small file."""
    return shell_text([path, posixpath.dirname(path) or ".", text], "remote/put.sh")


def upload_script(directory: str) -> str:
    """Extracts standard input into a directory."""
    return shell_text([directory], "remote/upload.sh")


def download_script(directory: str, entries: Sequence[str], exclude: Sequence[str]) -> str:
    """Writes entries as a tar archive."""
    options = "".join(f" --exclude={quote(pattern)}" for pattern in exclude)
    # tar's own words are read in one language only.
    functions = (
        f'ob_tar() {{\n    LC_ALL=C tar -cf -{_as_is(entries)}{options} -- "$@"\n}}\n'
        f"ob_excludes={'yes' if exclude else 'no'}\n"
        f"{_each_function(exclude)}"
    )
    return functions + shell_text([directory, *_names(entries, "download")], "remote/download.sh")


def _as_is(entries: Sequence[str]) -> str:
    """The option that keeps GNU tar from reading backslashes in names of entries as escapes, where it is needed."""
    if not any("\\" in entry for entry in entries):
        return ""
    return " $(tar --help 2>&1 | grep -q -e --no-unquote && echo --no-unquote)"


def _each_function(exclude: Sequence[str]) -> str:
    """`ob_each ENTRY... -exec COMMAND... {} +`: `find` with the exclusions between the entries and the command."""
    loop = (
        "    ob_left=$#\n"
        '    while [ "$ob_left" -gt 0 ]; do\n'
        "        ob_word=$1\n        shift\n        ob_left=$((ob_left - 1))\n"
        f'        if [ "$ob_word" = -exec ]; then\n            set -- "$@" {_prune(exclude)}"$ob_word"\n'
        '        else\n            set -- "$@" "$ob_word"\n        fi\n'
        '    done\n    find "$@"\n'
    )
    return f"ob_each() {{\n{loop}}}\n"


def _prune(exclude: Sequence[str]) -> str:
    """The part of a `find` that leaves names out, with a blank at its end."""
    patterns = " -o ".join(f"-name {quote(pattern)}" for pattern in exclude)
    return f"\\( {patterns} \\) -prune -o " if exclude else ""


def manifest_script(directory: str, entries: Sequence[str], exclude: Sequence[str]) -> str:
    """Lists regular files with their hashes, for `parse_remote_manifest`."""
    function = (
        f'ob_find() {{\n    ob_root=$1\n    shift\n    find "$ob_root" {_prune(exclude)}-type f -exec "$@" {{}} +\n}}\n'
    )
    return function + shell_text([directory, *_names(entries, "manifest")], "remote/manifest.sh")


def parse_remote_manifest(output: bytes) -> tuple[ManifestEntry, ...]:
    """Entries of a manifest script, each file once, sorted by path.

    Raises:
        CommandError: the target could not read a file.
        ProtocolError: a record has another form, or a path is not valid UTF-8.
    """
    unreadable = _UNREADABLE.search(output)
    if unreadable:
        name = unreadable[1].removeprefix(b"./").decode("utf-8", errors="backslashreplace")
        raise CommandError("manifest", f"cannot read {escape_controls(name)}")
    return tuple(sorted(set(parse_manifest(output))))


def has_only_changed_files(stderr: bytes) -> bool:
    """Whether tar complains about nothing but files that changed while it read them."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    return bool(lines) and all(_CHANGED.fullmatch(line) for line in lines)


def _names(entries: Iterable[str], action: str) -> list[str]:
    """Entries for a script: each once, below the directory, none that reads as an option."""
    names: list[str] = []
    for entry in entries:
        name = posixpath.normpath(entry)
        if name.startswith(("/", "../")) or name == "..":
            raise CommandError(action, f'"{escape_controls(entry)}" is outside the directory')
        names.append(name if name == "." else f"./{name}")
    return list(dict.fromkeys(names))
