"""What did a run train with? Read from its own `axolotl.yaml`, never from the project's settings of today."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from overbrainer_core.errors import ProjectFileError
from overbrainer_core.files import read_regular
from overbrainer_core.training.trainer import CONFIG_FILE

MAX_BYTES = 1 << 20
"""The longest settings file that is read: far more than any that was written."""


def parse_yaml(text: str) -> dict[str, Any]:
    """The mapping in a YAML text.

    Raises:
        ValueError: the text holds none.
    """
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # a safe loader
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("not a YAML document") from error
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise ValueError("not a YAML mapping")
    return document


def load_run_config(run_dir: Path) -> dict[str, Any] | None:
    """The settings that a run was started with; None when they cannot be read."""
    try:
        return parse_yaml(read_regular(run_dir / CONFIG_FILE, limit=MAX_BYTES).decode("utf-8"))
    except (OSError, ValueError, ProjectFileError):
        return None


def run_root(config: Mapping[str, Any]) -> str | None:
    """The run directory as its job saw it, by its `output_dir`."""
    output = config.get("output_dir")
    if not isinstance(output, str) or not output.endswith("/output"):
        return None
    return output.removesuffix("/output")
