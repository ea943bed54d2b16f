"""A project whose target is a machine behind a real sshd, worked on by the program as a process, with either client."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tests.peers.program import end_group, environment, until, write_project, write_split
from tests.peers.sshd import Sshd

CLIENTS = ("builtin", "openssh")

TINY = """
[training]
target = "lab"
trainer = "tiny"
base_model = "tiny-0.2m"
adapter = "full"
epochs = {epochs}
learning_rate = 1e-3
sequence_len = 64
micro_batch_size = 2
gradient_accumulation_steps = 1
evals_per_epoch = 1

[targets.lab]
kind = "ssh"
runtime = "native"
workdir = "work"
venv = "{venv}"

[targets.here]
kind = "local"
runtime = "native"
venv = "{venv}"
"""

AXOLOTL = """
[training]
target = "lab"
base_model = "{base_model}"
adapter = "lora"
{training}
[targets.lab]
kind = "ssh"
workdir = "work"
{target}
"""


class SshLab:
    """A server, a project here and a home of its own; jobs are ended and nothing of ours is left when it closes."""

    def __init__(self, directory: Path, client: str) -> None:
        self.server = Sshd(directory / "server")
        self.server.configure("")
        self.client = client
        self.project = directory / "project"
        self._programs = directory / "programs"
        self._programs.mkdir(parents=True)
        self._wrap_ssh()

    def _wrap_ssh(self) -> None:
        """An `ssh` that reads the home's configuration: the real one takes its home from the account, not from HOME."""
        ssh = shutil.which("ssh")
        wrapper = self._programs / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F "{self.server.client_home}/.ssh/config" "$@"\n')
        wrapper.chmod(0o755)

    @property
    def extra(self) -> dict[str, str]:
        """Variables of the program, on top of the plain ones."""
        return {
            **self.server.environment,
            "PATH": f"{self._programs}{os.pathsep}{os.environ['PATH']}",
            "OVERBRAINER_TARGETS__LAB__HOST": self.server.destination,
            "OVERBRAINER_SSH_CLIENT": self.client,
        }

    @property
    def environment(self) -> dict[str, str]:
        """Every variable of the program."""
        return environment(self.extra)

    def write_tiny(self, *, epochs: int) -> None:
        """The project trains with the embedded trainer; this test's own Python stands on the machine."""
        write_project(self.project, training=TINY.format(epochs=epochs, venv=sys.prefix))
        write_split(self.project, train=32, evaluation=4)

    def write_axolotl(self, *, base_model: str, target: str, training: str = "") -> None:
        """The project trains with something named `axolotl` on the machine."""
        write_project(self.project, training=AXOLOTL.format(base_model=base_model, target=target, training=training))
        write_split(self.project)

    def start(self, **variables: str) -> None:
        """Start the server; jobs of the machine have these variables."""
        self.server.variables.update(variables)
        self.server.start()

    @property
    def workdir(self) -> Path:
        """The runs on the machine."""
        return self.server.remote_home / "work"

    def records(self) -> list[dict[str, Any]]:
        """The run records here, by directory."""
        return [json.loads(path.read_text()) for path in sorted((self.project / "runs").glob("*/run.json"))]

    def wait_for_steps(self, count: int, *, other_than: Collection[str] = ()) -> str:
        """The ID of the only other run, once its job has written this many metric lines where it runs."""
        found: list[str] = []

        def is_there() -> bool:
            for record in self.records():
                metrics = Path(record["remote_dir"]) / "metrics.jsonl"
                if record["id"] in other_than or record["job"] is None or not metrics.exists():
                    continue
                if metrics.read_bytes().count(b"\n") >= count:
                    found.append(record["id"])
            return bool(found)

        until(is_there)
        return found[0]

    def group(self, run_id: str) -> int:
        """The process group of a run's job."""
        (record,) = (record for record in self.records() if record["id"] == run_id)
        return int(record["job"]["pid"])

    def steps(self, run_id: str) -> list[int]:
        """The trained steps of a run's metrics file here."""
        lines = (self.project / "runs" / run_id / "metrics.jsonl").read_text().splitlines()
        return [line["step"] for line in map(json.loads, lines) if line["event"] == "log" and "loss" in line]

    def close(self) -> None:
        """End every job and the server."""
        for record in self.records():
            if record["job"] is not None:
                end_group(int(record["job"]["pid"]))
        self.server.stop()


def last(text: str) -> str:
    """The final line."""
    return text.strip().splitlines()[-1]


def contents(directory: Path) -> Mapping[str, bytes]:
    """Every file below a directory, by its path there."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
