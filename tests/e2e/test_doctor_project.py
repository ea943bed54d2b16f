"""What the doctor says of a project and its providers: each failure and warning that it can name, met for real."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from overbrainer_tui.cli.main import run
from tests.peers.program import TINY_TRAINING, write_project

KEY = "OVERBRAINER_PROVIDERS__HERE__API_KEY"
URL = "OVERBRAINER_PROVIDERS__HERE__BASE_URL"
SECRET = "sk-doctor-says-nothing-0123456789"


Doctor = Callable[..., list[str]]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """`doctor(root, "--offline", code=1, OVERBRAINER_X="...")`: its lines, when it ends so and shows no secret."""

    def examine(root: Path, *options: str, code: int, **variables: str) -> list[str]:
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        ended_with = run(["-C", str(root), "doctor", *options])
        out, err = capsys.readouterr()
        assert ended_with == code, out + err
        assert SECRET not in out + err
        assert err == ""
        return out.splitlines()

    return examine


# The project's own files


def no_file(root: Path) -> None:
    (root / "overbrainer.toml").unlink()


def wrong_key(root: Path) -> None:
    file = root / "overbrainer.toml"
    file.write_text(file.read_text().replace("concurrency = 2", "concurrency = 0"))


def many_wrong_keys(root: Path) -> None:
    topic = '[[topics]]\nname = "t{}"\nsubtopics = 0\nquestions_per_subtopic = 1\n'
    with (root / "overbrainer.toml").open("a") as file:
        file.write("".join(topic.format(number) for number in range(25)))


def no_toml(root: Path) -> None:
    (root / "overbrainer.toml").write_text(f"[project]\nname = {SECRET}\n")


def env_without_quotes(root: Path) -> None:
    (root / ".env").write_text(f"A=1\nB=two {SECRET}\n")


def env_is_a_directory(root: Path) -> None:
    (root / ".env").unlink()
    (root / ".env").mkdir()


def newer_format(root: Path) -> None:
    (root / ".overbrainer" / "version").write_text("2\n")


def linked_version(root: Path) -> None:
    (root / ".overbrainer" / "version").unlink()
    (root / ".overbrainer" / "version").symlink_to(root / "overbrainer.toml")


def prompt_with_an_unknown_name(root: Path) -> None:
    (root / "prompts").mkdir(exist_ok=True)
    (root / "prompts" / "questions.txt").write_text("{{ nobody }}")


def prompt_that_is_no_template(root: Path) -> None:
    (root / "prompts").mkdir(exist_ok=True)
    (root / "prompts" / "judge.txt").write_text("{% if %}")


@pytest.mark.parametrize(
    ("break_it", "line"),
    [
        (no_file, "failure  configuration: cannot read "),
        (wrong_key,
         "failure  configuration: pipeline.concurrency: must be at least 1; correct overbrainer.toml or the variable"),
        (many_wrong_keys, "failure  configuration: and 5 more problems"),
        (no_toml, "failure  configuration: TOML syntax error in overbrainer.toml at line 2, column 8; "),
        (env_without_quotes, "failure  configuration: cannot parse .env (syntax error at line 2); correct that line: "
         "values with blanks need quotes"),
        (env_is_a_directory, "failure  configuration: cannot read .env: Is a directory"),
        (newer_format, "failure  configuration: this project uses format 2, newer than the format 1 this "),
        (linked_version, "failure  configuration: refusing to use "),
        (prompt_with_an_unknown_name, "failure  prompts: "),
        (prompt_that_is_no_template, "failure  prompts: "),
    ],
)  # fmt: skip
def test_a_fault_of_the_projects_files(
    tmp_path: Path, doctor: Doctor, break_it: Callable[[Path], None], line: str
) -> None:
    root = write_project(tmp_path / "p")
    break_it(root)
    lines = doctor(root, "--offline", code=1)
    assert [found for found in lines if found.startswith(line)], lines
    assert lines[-1].startswith("doctor: ")


def test_what_is_old_or_unset_is_a_warning(tmp_path: Path, doctor: Doctor) -> None:
    training = TINY_TRAINING.format(epochs=1).replace('"tiny"', '"axolotl"').replace('"full"', '"lora"')
    root = write_project(tmp_path / "p", training=training + "[training.axolotl_extra]\n")
    file = root / "overbrainer.toml"
    file.write_text(file.read_text().replace("epochs = 1", 'epochs = 1\nhub_model_id = "me/x"'))
    with (root / ".env").open("a") as env:
        env.write("A=${NOBODY}\n")
    lines = doctor(root, "--offline", code=1, PATH="/usr/bin:/bin")
    assert (
        "warning  configuration: training.hub_model_id is deprecated, use [hub] repo (overbrainer migrate moves it)"
        in lines
    )
    assert [line for line in lines if line.startswith("warning  configuration: .env line ") and "NOBODY" in line]
    assert "warning  hf_token: it is not set: the push will fail; set OVERBRAINER_HF_TOKEN or HF_TOKEN in .env" in lines


def test_a_client_that_is_none_is_a_fault_of_the_configuration(tmp_path: Path, doctor: Doctor) -> None:
    root = write_project(tmp_path / "p")
    lines = doctor(root, "--offline", code=1, OVERBRAINER_SSH_CLIENT=SECRET)
    assert "failure  configuration: OVERBRAINER_SSH_CLIENT must be openssh or builtin" in lines


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["-o", "size=1m"], "failure  disk: 1 MB free for the project; make room before anything is started"),
        (["-o", "size=1000m"], "warning  disk: 1.0 GB free for the project; less than 2.0 GB may not do"),
        (
            ["-o", "size=5000m,ro"],
            "failure  disk: the project's directory cannot be written to; change its permissions or its owner",
        ),
    ],
)
def test_a_disk_that_will_not_do(tmp_path: Path, doctor: Doctor, options: list[str], line: str) -> None:
    root = tmp_path / "p"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", *options, "none", str(root)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system has no file system that a test may mount")
    try:
        if "ro" in options[1]:
            subprocess.run(["mount", "-o", "remount,rw", str(root)], check=True)
        write_project(root)
        if "ro" in options[1]:
            subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
        code = 0 if line.startswith("warning") else 1
        lines = doctor(root, "--offline", code=code)
        assert line in lines, lines
    finally:
        subprocess.run(["umount", "-l", str(root)], check=True)


# Providers and keys


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server answers to a question for its models."""

    status: int = 200
    body: str = '{"data": [{"id": "generator"}, {"id": "parent"}]}'


@contextlib.contextmanager
def provider(listing: Listing) -> Iterator[str]:
    """A provider that knows its models; the block's value is its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = listing.body.encode()
            self.send_response(listing.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


PRICED = json.dumps(
    {
        "data": [
            {"id": "generator", "pricing": {"prompt": "1e-06", "completion": "2e-06"}},
            {"id": "parent"},
        ]
    }
)


@pytest.mark.parametrize(
    ("listing", "code", "expected"),
    [
        (Listing(), 0, ["ok       providers.here: it answers and lists 2 models",
                        "ok       roles.parent: parent is listed, without a price"]),
        (Listing(body=PRICED), 0, ["ok       roles.generator: generator, $1 in, $2 out per million tokens"]),
        (Listing(body='{"data": []}'), 0,
         ["warning  providers.here: it answers, but lists no models: they cannot be checked"]),
        (Listing(body='{"data": [{"id": "generator"}, {"id": "parents"}]}'), 0,
         ["warning  roles.parent: parent is not in the listing of here; did you mean parents?"]),
        (Listing(status=404), 0, ["warning  providers.here: it answers, but has no listing of models; is "
                                  "providers.here.base_url right? often /v1 is missing"]),
        (Listing(status=401, body=f"bad key {SECRET}"), 1, ["failure  providers.here: "]),
        (Listing(status=403), 1, ["failure  providers.here: "]),
        (Listing(status=500, body="oops"), 1, ["failure  providers.here: "]),
        (Listing(body="<html>hello</html>"), 1, ["failure  providers.here: "]),
    ],
)  # fmt: skip
def test_what_a_provider_may_answer(
    tmp_path: Path, doctor: Doctor, listing: Listing, code: int, expected: list[str]
) -> None:
    with provider(listing) as base_url:
        root = write_project(tmp_path / "p", base_url=base_url)
        lines = doctor(root, code=code, **{KEY: SECRET})
    for line in expected:
        assert [found for found in lines if found.startswith(line)], lines
    if listing.status in (401, 403):
        assert [line for line in lines if line.endswith("; look at providers.here.api_key")], lines


def test_a_cap_that_cannot_hold_is_a_warning(tmp_path: Path, doctor: Doctor) -> None:
    with provider(Listing()) as base_url:
        root = write_project(tmp_path / "p", base_url=base_url)
        lines = doctor(root, code=0, OVERBRAINER_PIPELINE__MAX_COST_USD="1")
    assert "warning  roles.parent: parent has no listed price: pipeline.max_cost_usd cannot hold" in lines


def silent_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("base_url", "line"),
    [
        ("http://127.0.0.1:{port}/v1", "failure  providers.here: request failed: connection refused; look at "
         "providers.here.base_url and the network"),
        ("http://nobody.invalid/v1", "failure  providers.here: request failed: "),
        ("no address", "failure  providers.here: "),
        ("ftp://127.0.0.1/v1", "failure  providers.here: "),
        ("", "failure  providers.here: base_url is not set; set OVERBRAINER_PROVIDERS__HERE__BASE_URL in .env"),
    ],
)  # fmt: skip
def test_a_provider_that_cannot_be_asked(tmp_path: Path, doctor: Doctor, base_url: str, line: str) -> None:
    root = write_project(tmp_path / "p")
    lines = doctor(root, code=1, **{URL: base_url.format(port=silent_port()), KEY: SECRET})
    assert [found for found in lines if found.startswith(line)], lines


def test_a_server_that_wants_no_tls_is_a_failure(tmp_path: Path, doctor: Doctor) -> None:
    with provider(Listing()) as base_url:
        root = write_project(tmp_path / "p", base_url=base_url.replace("http:", "https:"))
        lines = doctor(root, code=1, **{KEY: SECRET})
    assert [line for line in lines if line.startswith("failure  providers.here: ") and "TLS" in line], lines


@pytest.mark.parametrize(
    ("base_url", "variables", "code", "expected"),
    [
        ("https://api.openai.com/v1", {}, 1, [
            "failure  providers.here.api_key: it is not set; set OVERBRAINER_PROVIDERS__HERE__API_KEY or "
            "OPENAI_API_KEY in .env"]),
        ("https://llm.example.com/v1", {}, 0, [
            "warning  providers.here.api_key: it is not set; if the provider wants one, set "
            "OVERBRAINER_PROVIDERS__HERE__API_KEY in .env"]),
        ("http://192.168.1.5:8000/v1", {}, 0, [
            "ok       providers.here.api_key: not set, as a server of one's own needs none"]),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": SECRET}, 0, [
            "ok       providers.here.api_key: set by OPENAI_API_KEY (the shell)"]),
        ("https://llm.example.com/v1", {KEY: " "}, 1, ["failure  providers.here.api_key: it is empty; look at "
                                                         "OVERBRAINER_PROVIDERS__HERE__API_KEY (the shell)"]),
        ("https://llm.example.com/v1", {KEY: "vault:a/b#c"}, 0, [
            "skipped  providers.here.api_key: a Vault reference in "]),
    ],
)  # fmt: skip
def test_a_key_that_is_there_or_not(
    tmp_path: Path, doctor: Doctor, base_url: str, variables: dict[str, str], code: int, expected: list[str]
) -> None:
    root = write_project(tmp_path / "p", base_url=base_url)
    lines = doctor(root, "--offline", code=code, **variables)
    for line in expected:
        assert [found for found in lines if found.startswith(line)], lines


@pytest.mark.parametrize(
    ("reference", "variables", "words"),
    [
        ("vault:a/b#c", {}, "a vault: reference was found but VAULT_ADDR is not set"),
        ("vault:nothing", {}, "invalid secret reference: expected vault:<mount>/<path>#<field>"),
        ("vault:a/b#c", {"VAULT_ADDR": "http://127.0.0.1:{port}"},
         "VAULT_ADDR is set but no token was found in VAULT_TOKEN or ~/.vault-token"),
        ("vault:a/b#c", {"VAULT_ADDR": "http://127.0.0.1:{port}", "VAULT_TOKEN": SECRET},
         "vault request failed: connection refused"),
    ],
)  # fmt: skip
def test_a_reference_that_leads_nowhere(
    tmp_path: Path, doctor: Doctor, reference: str, variables: dict[str, str], words: str
) -> None:
    root = write_project(tmp_path / "p", base_url="https://llm.example.com/v1")
    filled = {name: text.format(port=silent_port()) for name, text in variables.items()}
    lines = doctor(root, code=1, **{**filled, KEY: reference, "HOME": str(tmp_path)})
    origin = "a Vault reference in OVERBRAINER_PROVIDERS__HERE__API_KEY (the shell)"
    assert f"failure  providers.here.api_key: {words}; look at {origin}" in lines
    assert "skipped  providers.here: left out: its key comes first" in lines


def test_a_key_that_no_request_can_carry_is_not_sent(tmp_path: Path, doctor: Doctor) -> None:
    with provider(Listing()) as base_url:
        root = write_project(tmp_path / "p", base_url=base_url)
        lines = doctor(root, code=1, **{KEY: f"{SECRET}\nX: y"})
    assert [line for line in lines if line.startswith("failure  providers.here")], lines


def test_a_target_that_does_not_exist_is_no_finding_but_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_project(tmp_path / "p", training=TINY_TRAINING.format(epochs=1))
    assert run(["-C", str(root), "doctor", "--offline", "--target", "locl"]) == 3
    assert capsys.readouterr().err == "error: unknown target `locl`; did you mean `local`? known: `local`\n"
