"""The `overbrainer` command: `--version` at once, the plain `runs ls` soon, everything else through a parser.

A Ctrl-C while modules load, or while the interpreter ends, ends the process without a word: there is nothing to undo.
A standard stream that the caller closed is replaced by one that takes and gives nothing, so that no file of ours is
ever opened in its place.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

TYPE_CHECKING = False  # the name that type checkers know, without loading `typing` for `--version`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def main() -> None:
    """Run the command and exit; the console script."""
    _fill_closed_streams()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from overbrainer_core import __version__  # asked for often, by scripts: nothing else is loaded for it

        sys.stdout.write(f"overbrainer {__version__}\n")
        return
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    ctrl_c = signal.getsignal(signal.SIGINT)
    gc.disable()  # what loads is kept, so that looking for garbage in it finds none
    is_caught = ctrl_c is signal.default_int_handler  # else ignored, by a shell that runs this in the background
    if is_caught:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    work = _work(arguments)
    if is_caught:
        signal.signal(signal.SIGINT, ctrl_c)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return work()


def _work(arguments: list[str]) -> Callable[[], int]:
    """Load what the command needs; the call that runs it."""
    if arguments[-2:] == ["runs", "ls"]:
        from overbrainer_tui.cli.listed_runs import list_plainly, plain_directory  # loads no parser of arguments

        directory = plain_directory(arguments)
        if directory is not None:
            return lambda: _leave(list_plainly(directory))
    from overbrainer_tui.cli.main import run  # loads click

    gc.enable()
    return lambda: run(arguments)


def _leave(code: int) -> NoReturn:
    """End at once: what a listing wrote is flushed, and taking the interpreter apart takes as long as reading runs."""
    os._exit(code)


def _fill_closed_streams() -> None:
    """Open the null device where a standard stream is closed, as by `>&-`."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
            os.set_inheritable(descriptor, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # lives as long as the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # lives as long as the process


if __name__ == "__main__":
    main()
