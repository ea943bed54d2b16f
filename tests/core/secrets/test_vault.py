"""One field from Vault, over a server that checks what it receives."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from overbrainer_core.errors import SecretError, describe
from overbrainer_core.secrets.reference import VaultReference
from overbrainer_core.secrets.vault import VaultAccess, fetch_field, find_access

REFERENCE = VaultReference(mount="secret", path="team/app", field="key")
ACCESS = VaultAccess(address="https://vault.example:8200", token="tok-hidden")
Handler = Callable[[httpx.Request], httpx.Response]


async def fetch(handler: Handler, reference: VaultReference = REFERENCE) -> str:
    return await fetch_field(reference, ACCESS, transport=httpx.MockTransport(handler))


def answer(document: object, status: int = 200) -> Handler:
    def handle(request: httpx.Request) -> httpx.Response:
        assert request.method == "GET"
        assert str(request.url) == "https://vault.example:8200/v1/secret/data/team/app"
        assert request.headers["X-Vault-Token"] == "tok-hidden"
        return httpx.Response(status, content=json.dumps(document).encode())

    return handle


async def test_the_field_is_read() -> None:
    assert await fetch(answer({"data": {"data": {"key": "value"}, "metadata": {}}})) == "value"


async def test_odd_characters_of_a_reference_stay_in_the_path() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url.raw_path == b"/v1/my%20kv/data/a%3Fb/c%23d"
        return httpx.Response(200, json={"data": {"data": {"f": "v"}}})

    assert await fetch(handle, VaultReference(mount="my kv", path="a?b/c#d", field="f")) == "v"


async def failure(handler: Handler) -> str:
    with pytest.raises(SecretError) as caught:
        await fetch(handler)
    error: BaseException | None = caught.value
    while error is not None:
        assert "hidden" not in repr(error)
        assert not isinstance(error, httpx.HTTPError | ValueError)
        error = error.__cause__ or error.__context__
    return describe(caught.value)


@pytest.mark.parametrize(
    "document", [{"data": {"data": {}}}, {"data": {"data": {"key": 5}}}, {"data": {"data": None}}, {"data": {}}]
)
async def test_a_missing_field_is_told_by_its_reference(document: object) -> None:
    assert await failure(answer(document)) == "field missing or not a string at vault:secret/team/app#key"


@pytest.mark.parametrize("content", [b"hidden", b"", b"[]", b'{"data": "hidden"}', b"[" * 100_000])
async def test_an_answer_that_cannot_be_read_is_not_quoted(content: bytes) -> None:
    text = await failure(lambda _: httpx.Response(200, content=content))
    assert text == "vault returned a response that could not be parsed"


@pytest.mark.parametrize("status", [403, 404, 503])
async def test_a_refusal_tells_its_status_alone(status: int) -> None:
    assert await failure(answer({"errors": ["hidden"]}, status)) == f"vault request failed: HTTP {status}"


def caused_by(cause: Exception) -> httpx.ConnectError:
    """What the library raises over an error of the operating system."""
    error = httpx.ConnectError("hidden")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (httpx.ReadTimeout("hidden"), "timed out"),
        (httpx.ConnectError("hidden"), "cannot connect"),
        (httpx.RemoteProtocolError("hidden"), "the connection broke"),
        (httpx.UnsupportedProtocol("hidden"), "it could not be sent"),
        (caused_by(ssl.SSLCertVerificationError(1, "hidden")), "its certificate is not trusted"),
        (caused_by(ssl.SSLError(1, "hidden")), "TLS failed"),
        (caused_by(socket.gaierror(-2, "hidden")), "its host name cannot be resolved"),
        (caused_by(ExceptionGroup("hidden", [ConnectionRefusedError(111, "hidden")])), "connection refused"),
    ],
)
async def test_trouble_on_the_way_tells_its_cause(error: Exception, cause: str) -> None:
    def handle(_: httpx.Request) -> httpx.Response:
        raise error

    assert await failure(handle) == f"vault request failed: {cause}"


async def test_a_refused_connection_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SecretError) as caught:
        await fetch_field(REFERENCE, VaultAccess(address=f"http://127.0.0.1:{port}", token="t"))
    assert str(caught.value) == "vault request failed: connection refused"


async def test_a_standby_node_is_followed_but_never_from_https_to_http() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.host == "vault.example":
            return httpx.Response(307, headers={"location": "https://active.example/v1/secret/data/team/app"})
        assert request.url.host == "active.example"
        return httpx.Response(200, json={"data": {"data": {"key": "value"}}})

    assert await fetch(handle) == "value"

    def downgrade(request: httpx.Request) -> httpx.Response:
        assert request.url.scheme == "https"
        return httpx.Response(307, headers={"location": "http://active.example/"})

    assert await failure(downgrade) == "vault request failed: HTTP 307"
    loop = await failure(lambda request: httpx.Response(302, headers={"location": str(request.url)}))
    assert loop == "vault request failed: too many redirects"


# Access


def test_the_token_of_the_environment_comes_first_and_is_trimmed(tmp_path: Path) -> None:
    (tmp_path / ".vault-token").write_text("from file\n")
    variables = {"VAULT_ADDR": "http://127.0.0.1:8200/", "VAULT_TOKEN": " tok \n", "HOME": str(tmp_path)}
    assert find_access(variables) == VaultAccess(address="http://127.0.0.1:8200", token="tok")
    assert "tok" not in repr(find_access(variables))
    for blank in ("", "  "):
        assert find_access({**variables, "VAULT_TOKEN": blank}).token == "from file"


@pytest.mark.parametrize("variables", [{}, {"VAULT_ADDR": ""}, {"VAULT_ADDR": "  ", "VAULT_TOKEN": "t"}])
def test_without_an_address_vault_is_not_configured(variables: dict[str, str]) -> None:
    with pytest.raises(SecretError, match=r"^a vault: reference was found but VAULT_ADDR is not set$"):
        find_access(variables)


@pytest.mark.parametrize(
    "address", ["hidden", "ftp://hidden", "http://", "http://[::1", "http://a:99999", "http://a\nb"]
)
def test_an_address_that_is_no_url_is_not_echoed(address: str) -> None:
    with pytest.raises(SecretError) as caught:
        find_access({"VAULT_ADDR": address, "VAULT_TOKEN": "t"})
    assert str(caught.value) == "invalid VAULT_ADDR: it is not an http or https URL"


def test_without_a_token_both_places_are_named(tmp_path: Path) -> None:
    message = "VAULT_ADDR is set but no token was found in VAULT_TOKEN or ~/.vault-token"
    for content in (None, "", " \n"):
        if content is not None:
            (tmp_path / ".vault-token").write_text(content)
        for home in ({"HOME": str(tmp_path)}, {}):
            with pytest.raises(SecretError) as caught:
                find_access({"VAULT_ADDR": "http://a", **home})
            assert str(caught.value) == message


def test_an_unreadable_token_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".vault-token"
    path.mkdir()
    with pytest.raises(SecretError) as caught:
        find_access({"VAULT_ADDR": "http://a", "HOME": str(tmp_path)})
    assert describe(caught.value) == f"cannot read {path}: Is a directory"


def test_a_token_that_is_no_header_is_refused() -> None:
    with pytest.raises(SecretError, match=r"^the Vault token is not a valid HTTP header value$"):
        find_access({"VAULT_ADDR": "http://a", "VAULT_TOKEN": "a\nb"})
