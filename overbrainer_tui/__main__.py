"""The `overbrainer` command: `--version` at once, everything else through the command line's modules."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command and exit; the console script."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from overbrainer_core import __version__  # asked for often, by scripts: nothing else is loaded for it

        sys.stdout.write(f"overbrainer {__version__}\n")
        return
    from overbrainer_tui.cli.main import run  # loads click

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
