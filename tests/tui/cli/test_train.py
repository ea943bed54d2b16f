"""A run's end as the object of `--json`, and what goes with a subcommand of `train`."""

from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, RunState, Snapshot
from overbrainer_tui.cli.main import run
from overbrainer_tui.cli.train import run_document

CREATED = parse_rfc3339("2026-11-02T08:15:00Z")


def test_a_stopped_run_tells_its_snapshot_and_output(tmp_path: Path) -> None:
    snapshot = Snapshot(checkpoint="output/checkpoint-4", step=4, reason="requested")
    record = RunRecord(
        id="a_1", target="t", created=CREATED, remote_dir="/r", state=RunState.STOPPED, snapshot=snapshot
    )
    (tmp_path / "runs" / "a_1" / "output").mkdir(parents=True)
    document = run_document(ProjectPaths(tmp_path), record)
    assert document == {
        "id": "a_1",
        "run": "a_1",
        "state": "stopped",
        "target": "t",
        "message": None,
        "output": str(tmp_path / "runs" / "a_1" / "output"),
        "snapshot": {"checkpoint": "output/checkpoint-4", "step": 4, "reason": "requested"},
        "resumed_from": None,
    }


def test_a_run_without_output_has_none(tmp_path: Path) -> None:
    record = RunRecord(id="a_1", target="t", created=CREATED, remote_dir="/r", state=RunState.FAILED, message="why")
    document = run_document(ProjectPaths(tmp_path), record)
    assert (document["output"], document["message"], document["snapshot"]) == (None, "why", None)


@pytest.mark.parametrize("option", ["--target", "--resume-from"])
def test_options_of_train_do_not_go_with_its_subcommands(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", option, "x", "attach", "y"]) == 2
    assert f"{option} does not go with `train attach`" in capsys.readouterr().err
