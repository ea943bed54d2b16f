"""Versions of what a training runs in the environment of this Python, a `name version` a line; nothing is loaded."""

import contextlib
from importlib import metadata

for name in ("axolotl", "torch"):
    with contextlib.suppress(metadata.PackageNotFoundError):
        print(name, metadata.version(name))
