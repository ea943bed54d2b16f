"""`python -m overbrainer_tui` is the `overbrainer` command."""

from overbrainer_tui.cli.main import main

if __name__ == "__main__":
    main()
