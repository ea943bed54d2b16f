"""Where is the text of a job script or a template, in a wheel and in a checkout?

In a wheel the job scripts lie in `overbrainer_core/_job_scripts`, in a checkout in `job_scripts` beside the
package. Nothing of them is imported: they are text that a target runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def job_scripts_dir() -> Path:
    """The directory that holds the job scripts."""
    bundled = _PACKAGE / "_job_scripts"
    return bundled if bundled.is_dir() else _PACKAGE.parent / "job_scripts"


@cache
def job_script(name: str) -> str:
    """The text of a job script by its path, such as `wrapper/job.sh`."""
    return (job_scripts_dir() / name).read_text(encoding="utf-8")


@cache
def template(name: str) -> str:
    """The text of a template of `overbrainer_core/templates`, such as `prompts/questions.txt`."""
    return (_PACKAGE / "templates" / name).read_text(encoding="utf-8")
