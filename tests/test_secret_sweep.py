"""No secret leaves where it belongs: real commands are run, and everything they wrote or showed is searched.

Every key is in the shell's environment, in `.env` or in Vault, the provider and Vault echo what they are sent, and each
log line is on. What is searched: both outputs of every command, every file below the test's own folder (project, home,
temporary files, event logs), the app's screen, and the arguments and environments of all processes started.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.peers.llm_api import Answer, Endpoint, list_or_answer, llm_api
from tests.peers.process_watch import PROC, ProcessWatch
from tests.peers.program import environment, run, write_project
from tests.peers.terminal import PtyTerminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TRAINING = """
[training]
target = "local"
trainer = "tiny"
base_model = "tiny-0.2m"
adapter = "full"
epochs = 1
learning_rate = 1e-3
sequence_len = 64
micro_batch_size = 2
gradient_accumulation_steps = 1

[targets.local]
kind = "local"
runtime = "native"
"""
TOKEN_TRAINING = """
[training]
target = "local"
base_model = "Qwen/Qwen3-0.6B"
adapter = "lora"

[targets.local]
kind = "local"
runtime = "native"
venv = "{venv}"
"""
CARELESS = """#!/bin/sh
echo "loading with HF_TOKEN=$HF_TOKEN"
sleep 1
echo "ValueError: the token HF_TOKEN=$HF_TOKEN is not valid" >&2
exit 1
"""
"""A trainer that tells its token, as careless programs do."""


def make_secret(prefix: str) -> str:
    """A key of the usual form that no other text holds."""
    return f"{prefix}{secrets.token_hex(20)}"


@dataclass
class Sweep:
    """The secrets, and all that was written or shown while they were in use."""

    root: Path
    keys: dict[str, str]
    outputs: dict[str, str] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    planted: set[Path] = field(default_factory=set)
    """Files that hold a secret because somebody else wrote it there."""

    def found_in(self, text: str | bytes) -> list[str]:
        """The names of the secrets of which a half stands in a text."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return [
            name
            for name, value in self.keys.items()
            if any(half.encode() in data for half in (value[-40:-20], value[-20:]))
        ]

    @property
    def files(self) -> list[Path]:
        """Every file below the test's folder but those that hold a secret by right."""
        return [
            path
            for path in self.root.rglob("*")
            if path.is_file() and not path.is_symlink() and path not in self.planted
        ]


class Bench:
    """Runs commands on one project and keeps what they wrote."""

    def __init__(self, sweep: Sweep, project: Path, variables: dict[str, str]) -> None:
        self.sweep = sweep
        self.project = project
        self.variables = variables
        self.plain_env = (project / ".env").read_text()
        sweep.planted.add(project / ".env")

    def do(self, *arguments: str, **extra: str) -> str:
        """Run a command; what it wrote to both outputs."""
        done = run(self.project, *arguments, extra={**self.variables, **extra}, limit_s=120)
        name = f"{self.project.name} {' '.join(arguments)} #{len(self.sweep.outputs)}"
        self.sweep.outputs[name] = done.stdout + done.stderr
        self.sweep.codes[name] = done.returncode
        assert "Traceback (most recent call last)" not in done.stderr or "DEBUG" in done.stderr
        return done.stdout

    @contextlib.contextmanager
    def with_file(self, name: str, text: str) -> Iterator[None]:
        """The file holds this text for a while."""
        path = self.project / name
        kept = path.read_text()
        path.write_text(text)
        try:
            yield
        finally:
            path.write_text(kept)


class Echo:
    """How the provider answers: some requests first fail, one question for good, and every error names the key sent."""

    def __init__(self) -> None:
        self.endpoint: Endpoint | None = None
        self.status = 200
        self._attempts: dict[str, int] = {}
        self._refused: str | None = None

    def __call__(self, request: dict[str, Any]) -> Answer:
        """The answer to a request; the forms of errors are those that providers use."""
        assert self.endpoint is not None
        sent = self.endpoint.authorization
        if self.status != 200:
            return Answer(status=self.status, body=json.dumps({"error": {"message": f"bad key: {sent}"}}).encode())
        text = json.dumps(request["messages"])
        self._attempts[text] = self._attempts.get(text, 0) + 1
        if request["model"] == "parent" and self._refused in (None, text):
            self._refused = text
            error = {"error": {"message": f"no such thing for {sent}", "code": sent}}
            return Answer(status=400, body=json.dumps(error).encode())
        if self._attempts[text] == 1 and len(self._attempts) % 4 == 1:
            return Answer(status=500, body=f"<html>upstream refused {sent}</html>".encode())
        if self._attempts[text] == 1 and len(self._attempts) % 4 == 3:
            return Answer(status=429, body=json.dumps({"detail": f"too many for {sent}"}).encode())
        return list_or_answer(request)


@contextlib.contextmanager
def vault(value: str) -> Iterator[str]:
    """A Vault that gives one secret under `secret/app`, and echoes the token elsewhere; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            good = self.path.endswith("/app")
            body = {"data": {"data": {"key": value}}} if good else {"errors": [self.headers["X-Vault-Token"], value]}
            data = json.dumps(body).encode()
            self.send_response(200 if good else 403)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


MARK = f"SWEEP_MARK={secrets.token_hex(8)}"


@pytest.fixture(scope="module")
def watch() -> ProcessWatch:
    """The look at all processes."""
    return ProcessWatch(MARK.encode(), command=f"{sys.executable}\0-m\0overbrainer_tui\0".encode())


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory, watch: ProcessWatch) -> Sweep:
    """Everything was done, and kept."""
    root = tmp_path_factory.mktemp("sweep")
    prefixes = {
        "provider in the shell": "sk-",
        "provider in .env": "sk-or-",
        "provider in Vault": "plain",
        "token of Vault": "hvs.",
        "token of Hugging Face": "hf_",
        "key of Runpod": "rpa_",
        "key of OpenAI": "sk-proj-",
        "typed into the wrong place": "word",
    }
    found = Sweep(root, {name: make_secret(prefix) for name, prefix in prefixes.items()})
    echo = Echo()
    started = watch.watching() if PROC.is_dir() else contextlib.nullcontext()
    with llm_api(echo) as endpoint, vault(found.keys["provider in Vault"]) as address, started:
        echo.endpoint = endpoint
        variables = shell_of(found, endpoint, address)
        stages_and_training(found, variables, echo)
        careless_training(found, variables)
        mistakes(found, variables)
        the_app(found, variables)
    return found


def shell_of(sweep: Sweep, endpoint: Endpoint, address: str) -> dict[str, str]:
    """The shell's variables."""
    home, temporary = sweep.root / "home", sweep.root / "tmp"
    home.mkdir()
    temporary.mkdir()
    name, _, value = MARK.partition("=")
    return {
        name: value,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OVERBRAINER_LOG": "trace",
        "OVERBRAINER_PROVIDERS__HERE__BASE_URL": endpoint.base_url,
        "OVERBRAINER_PROVIDERS__HERE__API_KEY": sweep.keys["provider in the shell"],
        "RUNPOD_API_KEY": sweep.keys["key of Runpod"],
        "OPENAI_API_KEY": sweep.keys["key of OpenAI"],
        "VAULT_ADDR": address,
        "VAULT_TOKEN": sweep.keys["token of Vault"],
    }


def make_bench(sweep: Sweep, variables: dict[str, str], name: str, training: str) -> Bench:
    """A project whose other provider has its key in `.env`."""
    project = write_project(sweep.root / name, training=f'[providers.far]\nprotocol = "openai"\n{training}')
    (project / ".env").write_text(
        f"OVERBRAINER_PROVIDERS__FAR__API_KEY={sweep.keys['provider in .env']}\n"
        f"OVERBRAINER_PROVIDERS__FAR__BASE_URL={variables['OVERBRAINER_PROVIDERS__HERE__BASE_URL']}\n"
        f"OVERBRAINER_HF_TOKEN={sweep.keys['token of Hugging Face']}\n"
    )
    return Bench(sweep, project, variables)


def stages_and_training(sweep: Sweep, variables: dict[str, str], echo: Echo) -> None:
    """All commands on a project, from the settings to the logs of a run."""
    bench = make_bench(sweep, variables, "whole", TRAINING)
    events = str(sweep.root / "events.jsonl")
    for arguments in (["config", "check"], ["config", "check", "--json"], ["config", "check", "--resolve"], ["doctor"]):
        bench.do(*arguments)
    for stage in ("subtopics", "questions", "answers"):
        bench.do(stage, "--events", events)
    far = {"OVERBRAINER_ROLES__PARENT__PROVIDER": "far"}
    for status in (401, 403, 402):
        echo.status = status
        bench.do("answers", "--events", "-", **far)
    echo.status = 200
    bench.do("split", "--json")
    bench.do("train", "--events", events)
    (run_id,) = [path.name for path in (bench.project / "runs").iterdir() if path.is_dir()]
    bench.do("train", "attach", run_id)
    job_log = bench.project / "runs" / run_id / "job.log"
    job_log.write_text(
        f"{job_log.read_text()}\nOPENAI_API_KEY={sweep.keys['key of OpenAI']}\n"
        f"using {sweep.keys['key of Runpod']} now\n"
        f"Authorization: Bearer {sweep.keys['provider in .env']}\n"
    )
    sweep.planted.add(job_log)
    for arguments in (["runs", "logs", run_id], ["runs", "ls", "--json"], ["history", "--all", "--json"]):
        bench.do(*arguments)


def careless_training(sweep: Sweep, variables: dict[str, str]) -> None:
    """A run whose trainer gets the token, and tells it in its own log."""
    program = sweep.root / "venv" / "bin" / "axolotl"
    program.parent.mkdir(parents=True)
    program.write_text(CARELESS)
    program.chmod(0o755)
    bench = make_bench(sweep, variables, "careless", TOKEN_TRAINING.format(venv=program.parent.parent))
    data = sweep.root / "whole" / "data"
    (bench.project / "data").mkdir()
    (bench.project / "data" / "train.jsonl").write_bytes((data / "train.jsonl").read_bytes())
    bench.do("doctor", "--json")
    bench.do("train", "--events", "-")
    (run_id,) = [path.name for path in (bench.project / "runs").iterdir() if path.is_dir()]
    sweep.planted.add(bench.project / "runs" / run_id / "job.log")
    bench.do("runs", "logs", run_id)
    bench.do("runs", "ls")


def mistakes(sweep: Sweep, variables: dict[str, str]) -> None:
    """Secrets in the wrong place, and a Vault that refuses."""
    bench = make_bench(sweep, variables, "mistaken", TRAINING)
    typed = sweep.keys["typed into the wrong place"]
    config = (bench.project / "overbrainer.toml").read_text()
    for text in (
        f"{config}\n{typed} {typed}\n",
        config.replace("concurrency = 2", f'concurrency = "{typed}"'),
        config.replace('protocol = "openai"', f'protocol = "openai"\napi_key = "{typed}"'),
        config.replace('protocol = "openai"', f'protocol = "{typed}"'),
    ):
        with bench.with_file("overbrainer.toml", text):
            bench.do("config", "check")
    with bench.with_file("overbrainer.toml", config.replace("concurrency = 2", f'concurrency = "{typed}"')):
        bench.do("doctor", "--offline")
    for line in (f"A={typed} two words", f'A="{typed}', f"{typed}"):
        with bench.with_file(".env", f"{bench.plain_env}{line}\n"):
            bench.do("subtopics")
    key = "OVERBRAINER_PROVIDERS__HERE__API_KEY"
    for value in ("vault:secret/app#key", "vault:secret/other#key", f"vault:{typed}", f"{typed} with blanks"):
        bench.do("subtopics", **{key: value})
    bench.do("config", "check", "--resolve", **{key: "vault:secret/other#key"})
    bench.do("doctor", **{key: "vault:secret/other#key"})
    for name in ("OVERBRAINER_PIPELINE__SEED", "OVERBRAINER_SSH_CLIENT", "OVERBRAINER_LOG"):
        bench.do("config", "check", **{name: typed})


def the_app(sweep: Sweep, variables: dict[str, str]) -> None:
    """The app on the project of before, with its log on the screen."""
    terminal = PtyTerminal(
        [sys.executable, "-m", "overbrainer_tui", "-C", str(sweep.root / "whole"), "tui"],
        stderr=sweep.root / "app.stderr",
        env={**environment(variables), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
        size=(120, 40),
    )
    try:
        terminal.wait_for(r"\? help")
        for key in ("5", "4", "3", "q"):
            terminal.send(key)
            time.sleep(0.3)
    finally:
        terminal.close()
    sweep.outputs["app"] = bytes(terminal.output).decode("utf-8", "replace")


def test_the_commands_did_what_they_are_here_for(sweep: Sweep) -> None:
    codes = {(name.rpartition(" #")[0], code) for name, code in sweep.codes.items()}
    assert ("whole config check --resolve", 0) in codes
    assert ("whole answers --events -", 6) in codes
    assert ("whole split --json", 0) in codes
    assert (f"whole train --events {sweep.root / 'events.jsonl'}", 0) in codes
    assert ("careless train --events -", 9) in codes
    assert ("mistaken config check --resolve", 5) in codes
    assert ("mistaken subtopics", 3) in codes
    assert any(" DEBUG " in text for text in sweep.outputs.values())
    assert "e2e" in sweep.outputs["app"]


def test_no_output_holds_a_secret(sweep: Sweep) -> None:
    assert {name: hit for name, text in sweep.outputs.items() if (hit := sweep.found_in(text))} == {}


def test_the_log_of_a_careless_program_is_shown_masked(sweep: Sweep) -> None:
    (shown,) = [text for name, text in sweep.outputs.items() if name.startswith("careless runs logs")]
    assert "loading with HF_TOKEN=***" in shown
    (shown,) = [text for name, text in sweep.outputs.items() if name.startswith("whole runs logs")]
    assert "OPENAI_API_KEY=***" in shown
    assert any(sweep.found_in(path.read_bytes()) for path in sweep.planted if path.name == "job.log")


def test_no_file_holds_a_secret(sweep: Sweep) -> None:
    names = {path.name for path in sweep.files}
    assert {"events.jsonl", "run.json", "answers.jsonl", "history.jsonl", "overbrainer.toml", "app.stderr"} <= names
    shown = {str(path): hit for path in sweep.files if (hit := sweep.found_in(path.read_bytes()))}
    assert shown == {}
    assert [path for path in sweep.root.rglob("*") if sweep.found_in(str(path))] == []


@pytest.mark.skipif(not PROC.is_dir(), reason="this system has no /proc")
def test_no_process_shows_a_secret_to_others(sweep: Sweep, watch: ProcessWatch) -> None:
    seen = watch.seen
    assert any(b"tiny_trainer.py" in arguments for arguments, _ in seen.programs)
    assert any(b"bin/axolotl" in arguments for arguments, _ in seen.programs)
    assert [arguments for arguments in seen.arguments if sweep.found_in(arguments)] == []
    allowed = b"\0HF_TOKEN=" + sweep.keys["token of Hugging Face"].encode()
    hits = {name for _, block in seen.programs for name in sweep.found_in((b"\0" + block).replace(allowed, b""))}
    assert hits == set()


@pytest.mark.skipif(not PROC.is_dir(), reason="this system has no /proc")
def test_only_the_job_that_needs_it_has_the_token(sweep: Sweep, watch: ProcessWatch) -> None:
    having = [arguments for arguments, block in watch.seen.programs if sweep.found_in(block)]
    assert having
    assert [arguments for arguments in having if b"axolotl" not in arguments and arguments != b"sleep\x001\0"] == []
