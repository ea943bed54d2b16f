"""What is written to standard output, and what happens when nobody reads it?

The only module that writes standard output, and standard error outside the log. A reader that went away
(`| head`) ends the command quietly; an output that cannot be written is an error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from overbrainer_core.errors import OverbrainerError
from overbrainer_core.text import escape_controls


class OutputClosedError(OverbrainerError):
    """Whoever read standard output is gone; the command ends without a word."""


class OutputError(OverbrainerError):
    """Standard output cannot be written."""


def write_line(line: str) -> None:
    """One line of the result on standard output, flushed.

    Raises:
        OutputClosedError: nobody reads any more.
        OutputError: it cannot be written.
    """
    write_lines((line,))


def write_lines(lines: Iterable[str]) -> None:
    """Lines of the result on standard output, flushed once at the end."""
    try:
        for line in lines:
            sys.stdout.write(line.encode("utf-8", errors="replace").decode("utf-8") + "\n")
        sys.stdout.flush()
    except BrokenPipeError as error:
        silence_stdout()
        raise OutputClosedError("standard output was closed") from error
    except OSError as error:
        silence_stdout()
        raise OutputError("cannot write to standard output") from error


def write_json(document: Mapping[str, Any], *, indent: int | None = None) -> None:
    """One JSON document and a newline on standard output, on one line unless `indent` says how far to indent it."""
    separators = (", ", ": ") if indent is None else (",", ": ")
    write_line(json.dumps(document, ensure_ascii=False, indent=indent, separators=separators))


def silence_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not fail again at its exit."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)


def write_error(line: str) -> None:
    """One line on standard error that no log filter hides: control characters shown, not obeyed."""
    try:
        sys.stderr.write(escape_controls(line) + "\n")
        sys.stderr.flush()
    except OSError:
        return


def write_warning(line: str) -> None:
    """A `warning:` line on standard error."""
    write_error(f"warning: {line}")
