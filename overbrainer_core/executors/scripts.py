"""What text does a target's shell run for each step of the detached-job protocol, and how are its answers read?

Each text is a line that sets quoted positional parameters, then scripts of `job_scripts/wrapper`. The
`parse_` functions are pure and refuse what the scripts never print.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from overbrainer_core.assets import job_script
from overbrainer_core.executors.errors import InvalidSecretError, ProtocolError
from overbrainer_core.shell import quote
from overbrainer_core.text import escape_controls
from overbrainer_core.transfers.manifest import ManifestEntry
from overbrainer_core.values.job import JobHandle, JobPhase, JobState, Secret

STALE_FILES = ("exit_code", "cancelling", "cancelled", "job.pid", "job.start")
"""Files of an earlier job in the same directory, removed before a new one starts."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MANIFEST_RECORD = re.compile(rb"([0-9a-fA-F]{64}) (.+)", re.DOTALL)
_EXITED = re.compile(r"exited (\d{1,9})( group-alive)?", re.ASCII)
_SHOWN_CHARS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTiming:
    """Waits of a cancel, in seconds and in checks `check_s` apart; a target's shell may know whole seconds only."""

    container_stop_s: int = 30
    term_checks: int = 10
    kill_checks: int = 10
    check_s: float = 1


def shell_text(parameters: Iterable[str], *names: str) -> str:
    """Scripts of `job_scripts` one after the other, with these positional parameters."""
    words = " ".join(quote(value) for value in parameters)
    return f"set -- {words}\n" + "\n".join(job_script(name) for name in names)


def job_wrapper(script: str) -> str:
    """The leader of a job, run in the run directory: writes `job.pid` and `job.start`, last `exit_code`."""
    return shell_text([script], "wrapper/group.sh", "wrapper/job.sh")


def status_script(job: JobHandle) -> str:
    """Prints how a job stands, for `parse_status`."""
    return shell_text([job.directory, str(job.pid)], "wrapper/group.sh", "wrapper/status.sh")


def cancel_script(job: JobHandle, timing: CancelTiming | None = None) -> str:
    """Ends a job; exit status 0 once it is over."""
    waits = timing or CancelTiming()
    container = [job.container.engine, job.container.name] if job.container else ["", ""]
    numbers = [str(waits.container_stop_s), str(waits.term_checks), str(waits.kill_checks), f"{waits.check_s:g}"]
    return shell_text([job.directory, str(job.pid), *container, *numbers], "wrapper/group.sh", "wrapper/cancel.sh")


def claim_script(directory: str, owner: str) -> str:
    """Claims a run directory for `owner`, one line; prints the answer for `parse_claim`."""
    return shell_text([directory, owner], "wrapper/claim.sh")


def check_secrets(secrets: Iterable[Secret]) -> None:
    """Return when every secret can stand in an environment and pass through one line of standard input.

    Raises:
        InvalidSecretError: names the first that cannot.
    """
    for secret in secrets:
        if not _NAME.fullmatch(secret.name) or any(char in secret.value for char in "\n\r\0"):
            raise InvalidSecretError(secret.name)
        try:
            os.fsencode(secret.value)
        except UnicodeEncodeError:
            # The cause would quote the value.
            raise InvalidSecretError(secret.name) from None


def parse_status(output: bytes, *, pid: int) -> JobState:
    """The answer of a status script about the job whose leader is `pid`.

    Raises:
        ProtocolError: it is none.
    """
    word = _text(output)
    if word == "running":
        return JobState(phase=JobPhase.RUNNING)
    if word == "cancelled":
        return JobState(phase=JobPhase.CANCELLED)
    if word in ("lost", "lost group-alive"):
        return JobState(phase=JobPhase.LOST, living_group=pid if word != "lost" else None)
    match = _EXITED.fullmatch(word)
    if match is None:
        raise ProtocolError(f'unknown job status "{_shown(word)}"')
    return JobState(phase=JobPhase.EXITED, exit_code=int(match[1]), living_group=pid if match[2] else None)


def parse_claim(output: bytes) -> bool:
    """Whether a claim script made the directory ours.

    Raises:
        ProtocolError: it is no answer of that script.
    """
    word = _text(output)
    if word not in ("claimed", "taken"):
        raise ProtocolError(f"`{_shown(word)}` is not an answer to a claim")
    return word == "claimed"


def parse_pid(output: bytes) -> int:
    """The process ID that a launcher printed, above 1.

    Raises:
        ProtocolError: it is none.
    """
    word = _text(output)
    if not re.fullmatch(r"[1-9]\d{0,9}", word, re.ASCII) or int(word) < 2:
        raise ProtocolError(f"`{_shown(word)}` is not a process ID")
    return int(word)


def parse_manifest(output: bytes) -> tuple[ManifestEntry, ...]:
    """Entries of NUL-ended records `<64 hex digits> ./<path>`, sorted by path, hashes in lower case.

    Raises:
        ProtocolError: a record has another form, or a path is not valid UTF-8.
    """
    records = output.split(b"\0")
    last = records.pop()
    if last:
        raise ProtocolError(f'unexpected manifest record "{_shown(_text(last))}"')
    return tuple(sorted(_manifest_entry(record) for record in records))


def _manifest_entry(record: bytes) -> ManifestEntry:
    match = _MANIFEST_RECORD.fullmatch(record)
    path = match[2].removeprefix(b"./") if match else b""
    if match is None or not path:
        raise ProtocolError(f'unexpected manifest record "{_shown(_text(record))}"')
    try:
        return ManifestEntry(path=path.decode("utf-8"), sha256=match[1].decode("ascii").lower())
    except UnicodeDecodeError:
        shown = _shown(path.decode("utf-8", errors="backslashreplace"))
        raise ProtocolError(f'the file name "{shown}" is not valid UTF-8') from None


def _text(output: bytes) -> str:
    return output.decode("utf-8", errors="replace").strip()


def _shown(text: str) -> str:
    """A part of an answer for a message: on one line and short."""
    shown = escape_controls(text)
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
