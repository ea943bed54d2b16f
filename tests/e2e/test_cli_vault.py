"""A secret kept in Vault: who asks for it, how often, and that it stays where it belongs.

Vault is played by a server that checks the token and keeps what it was asked for.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.peers.llm_api import Endpoint, llm_api
from tests.peers.program import run, write_project

TOKEN = "hvs.vault-token-0123456789"
VALUE = "sk-kept-in-vault-0123456789"
KEY = "providers.here.api_key"
REFERENCE = "vault:secret/llm/here#key"


@dataclass
class Vault:
    """A running stand-in: its address, and the paths that were asked for."""

    address: str = ""
    asked: list[str] = field(default_factory=list)


@contextlib.contextmanager
def vault_api() -> Iterator[Vault]:
    """Serve one field at `secret/llm/here`; anything else is missing or forbidden."""
    vault = Vault()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            vault.asked.append(self.path)
            status = 200 if self.path == "/v1/secret/data/llm/here" else 404
            if self.headers.get("X-Vault-Token") != TOKEN:
                status = 403
            body = json.dumps({"data": {"data": {"key": VALUE, "number": 5}}}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    vault.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield vault
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def vault() -> Iterator[Vault]:
    """A Vault of the test's own."""
    with vault_api() as vault:
        yield vault


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A provider that answers everything."""
    with llm_api() as endpoint:
        yield endpoint


@dataclass
class Project:
    """A project whose provider's key is a reference."""

    root: Path
    variables: dict[str, str]

    def command(self, *arguments: str, code: int = 0, **more: str) -> str:
        """What a command printed, both streams, when it ended so."""
        done = run(self.root, *arguments, extra={**self.variables, **more})
        printed = done.stdout + done.stderr
        assert done.returncode == code, printed
        assert VALUE not in printed
        assert TOKEN not in printed
        return printed


@pytest.fixture
def project(tmp_path: Path, vault: Vault, endpoint: Endpoint) -> Project:
    """A project, Vault and a provider that know each other."""
    root = write_project(tmp_path / "p", base_url=endpoint.base_url)
    variables = {
        "OVERBRAINER_PROVIDERS__HERE__API_KEY": REFERENCE,
        "OVERBRAINER_HF_TOKEN": "vault:secret/never#asked",
        "VAULT_ADDR": vault.address,
        "VAULT_TOKEN": f" {TOKEN}\n",
    }
    return Project(root, variables)


def test_a_command_asks_once_for_what_it_uses_and_for_nothing_else(
    project: Project, vault: Vault, endpoint: Endpoint
) -> None:
    project.command("run")
    assert vault.asked == ["/v1/secret/data/llm/here"]
    assert endpoint.authorization == f"Bearer {VALUE}"
    held = [path for path in project.root.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert held == []


@pytest.mark.parametrize("arguments", [["config", "check"], ["split"], ["runs", "ls"], ["history"], ["stats"]])
def test_a_command_that_uses_no_secret_asks_nobody(project: Project, vault: Vault, arguments: list[str]) -> None:
    project.command(*arguments)
    assert vault.asked == []


def test_resolving_tells_each_key_and_stops_at_the_first_that_fails(project: Project, vault: Vault) -> None:
    printed = project.command("config", "check", "--resolve", code=5)
    assert f"\n{KEY}: resolved\n" in printed
    assert printed.endswith("error: cannot resolve hf_token: vault request failed: HTTP 404\n")
    assert vault.asked == ["/v1/secret/data/llm/here", "/v1/secret/data/never"]


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"VAULT_ADDR": " "}, "a vault: reference was found but VAULT_ADDR is not set"),
        ({"VAULT_ADDR": "hidden words"}, "invalid VAULT_ADDR: it is not an http or https URL"),
        ({"VAULT_TOKEN": "  "}, "VAULT_ADDR is set but no token was found in VAULT_TOKEN or ~/.vault-token"),
        ({"VAULT_TOKEN": "hvs.another"}, "vault request failed: HTTP 403"),
        ({"OVERBRAINER_PROVIDERS__HERE__API_KEY": "vault:secret/llm/here#none"},
         "field missing or not a string at vault:secret/llm/here#none"),
        ({"OVERBRAINER_PROVIDERS__HERE__API_KEY": "vault:secret/llm/here#number"},
         "field missing or not a string at vault:secret/llm/here#number"),
        ({"OVERBRAINER_PROVIDERS__HERE__API_KEY": "vault:hidden"},
         "invalid secret reference: expected vault:<mount>/<path>#<field>"),
    ],
)  # fmt: skip
def test_a_failure_of_vault_is_one_line_with_its_own_code(
    project: Project, tmp_path: Path, endpoint: Endpoint, more: dict[str, str], cause: str
) -> None:
    printed = project.command("subtopics", code=5, HOME=str(tmp_path), **more)
    assert printed.splitlines()[-1] == f"error: cannot resolve {KEY}: {cause}"
    assert "hidden" not in printed
    assert endpoint.requests == []


def test_the_token_file_of_the_home_is_used(project: Project, vault: Vault, tmp_path: Path) -> None:
    (tmp_path / ".vault-token").write_text(f"{TOKEN}\n")
    project.command("subtopics", HOME=str(tmp_path), VAULT_TOKEN="")
    assert len(vault.asked) == 1


def test_a_literal_needs_no_vault_that_works(project: Project, endpoint: Endpoint) -> None:
    literal = "sk-a-plain-one-0123456789"
    project.command("subtopics", VAULT_ADDR="nonsense", OVERBRAINER_PROVIDERS__HERE__API_KEY=literal)
    assert endpoint.authorization == f"Bearer {literal}"
