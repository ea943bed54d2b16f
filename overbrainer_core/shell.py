"""How is text put into a POSIX shell script, and how is a command's error output kept short?

Every value that enters a script goes through `quote`; error output shown to a person goes through
`cut_error_output`.
"""

from __future__ import annotations

MAX_ERROR_LINES = 20
"""Lines kept of a failed command's error output."""

MAX_ERROR_BYTES = 4096
"""Bytes kept of a failed command's error output, cut on a character boundary."""


def quote(value: str) -> str:
    """The value in single quotes, an inner quote written as `'\\''`; the empty text gives `''`."""
    return "'" + value.replace("'", "'\\''") + "'"


def quote_path(path: str) -> str:
    """A path for a script: a leading `~/` or a lone `~` becomes `"$HOME"`, the rest is quoted."""
    if path == "~":
        return '"$HOME"'
    if path.startswith("~/"):
        return '"$HOME"/' + quote(path[2:])
    return quote(path)


def cut_error_output(output: bytes, *, fallback: str) -> str:
    """Error output for a message: trimmed, at most 20 lines and 4096 bytes, then how many lines are left out.

    Empty output gives `fallback` (the exit status in words).
    """
    text = output.decode("utf-8", errors="replace").strip()
    if not text:
        return fallback
    lines = text.split("\n")
    kept = "\n".join(lines[:MAX_ERROR_LINES])
    encoded = kept.encode("utf-8")
    if len(encoded) > MAX_ERROR_BYTES:
        kept = encoded[:MAX_ERROR_BYTES].decode("utf-8", errors="ignore") + "..."
    left_out = len(lines) - MAX_ERROR_LINES
    if left_out > 0:
        kept += "\n(1 more line)" if left_out == 1 else f"\n({left_out} more lines)"
    return kept
