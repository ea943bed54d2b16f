"""The `overbrainer` command: `--version` at once, everything else through the command line's modules.

A Ctrl-C while modules load, or while the interpreter ends, ends the process without a word: there is nothing to undo.
A standard stream that the caller closed is replaced by one that takes and gives nothing, so that no file of ours is
ever opened in its place.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys


def main() -> None:
    """Run the command and exit; the console script."""
    _fill_closed_streams()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from overbrainer_core import __version__  # asked for often, by scripts: nothing else is loaded for it

        sys.stdout.write(f"overbrainer {__version__}\n")
        return
    ctrl_c = signal.getsignal(signal.SIGINT)
    is_caught = ctrl_c is signal.default_int_handler  # else ignored, by a shell that runs this in the background
    if is_caught:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from overbrainer_tui.cli.main import run  # loads click

    if is_caught:
        signal.signal(signal.SIGINT, ctrl_c)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))


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
