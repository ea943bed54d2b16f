"""How does a command end: which line on standard error, and which exit code?

Every error ends in one line and the code of its kind; a reader of standard output that went away ends the command
quietly. Listings import this module, so it loads no parser of arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from overbrainer_core.errors import OverbrainerError, describe
from overbrainer_tui.cli.exit_codes import ExitCode, exit_code
from overbrainer_tui.cli.output import OutputClosedError, silence_stdout, write_error

MIGRATE_HINT = "this project predates overbrainer 0.4.0: run overbrainer migrate"
"""Told at the end of a command on an old project."""


def exit_code_of(work: Callable[[], int]) -> int:
    """Do the work of a command and return its exit code, telling what it failed by."""
    try:
        return work()
    except KeyboardInterrupt:
        write_error("error: interrupted")
        return ExitCode.INTERRUPTED
    except OutputClosedError:
        return ExitCode.SUCCESS
    except (BrokenPipeError, SystemExit):
        # click turns a closed standard output, met while it prints a help, into an exit of its own
        silence_stdout()
        return ExitCode.SUCCESS
    except OverbrainerError as error:
        for line in f"error: {describe(error)}".split("\n"):  # several problems of the settings take a line each
            write_error(line)
        return exit_code(error)
    except OSError as error:
        _keep_for_debugging()
        where = f"cannot access {os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        write_error(f"error: {where}{describe(error)}")
        return ExitCode.FAILURE
    except Exception as error:  # noqa: BLE001  # the command's entry: an unforeseen fault is one line too
        _keep_for_debugging()
        write_error(f"error: {type(error).__name__}: {describe(error)}")
        return ExitCode.FAILURE


def _keep_for_debugging() -> None:
    import logging  # only on this path: listings do without it

    logging.getLogger("overbrainer.cli").debug("unforeseen error", exc_info=True)
