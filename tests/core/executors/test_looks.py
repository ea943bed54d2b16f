"""Answers of the looks for programs and engines: read as they are, empty where something is missing."""

from __future__ import annotations

import subprocess

from overbrainer_core.executors.looks import (
    engine_look_script,
    parse_engine_look,
    parse_program_look,
    program_look_script,
)


def answer_here(script: str) -> bytes:
    """What a look prints on this machine."""
    return subprocess.run(["sh", "-c", script], check=True, capture_output=True, timeout=10).stdout


def test_an_engine_is_read() -> None:
    look = parse_engine_look(b"@engine\nusable\n@version\n28.2.2\n@image\nthere\n@nvidia\nnvidia-ctk\n")
    assert (look.state, look.version, look.has_image, look.sees_gpus) == ("usable", "28.2.2", True, True)
    refused = parse_engine_look(b"@engine\nrefused\n@reason\nno \x1b[31mdaemon\n")
    assert (refused.state, refused.reason, refused.has_image) == ("refused", "no [31mdaemon", False)
    assert parse_engine_look(b"").state == "refused"


def test_an_engine_that_is_not_there() -> None:
    assert parse_engine_look(answer_here(engine_look_script("no-such-engine", "image"))).state == "absent"


def test_a_program_is_read() -> None:
    look = parse_program_look(answer_here(program_look_script("sh")))
    assert look.path.endswith("sh")
    assert (look.python, look.answer) == ("", "")
    assert parse_program_look(answer_here(program_look_script("/nowhere/sh"))).path == ""
