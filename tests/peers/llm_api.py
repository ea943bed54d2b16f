"""An OpenAI-style endpoint on loopback that answers as a test tells it to, for the program as a process."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the endpoint sends: a status, a body, headers; `cut` closes the connection in the middle of the body."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False


@dataclass
class Endpoint:
    """A running endpoint: its base URL, the request bodies it received, and the key that came last."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorization: str = ""


def completion(content: str, *, finish: str = "stop") -> Answer:
    """A complete reply with usage."""
    document = {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 20},
    }
    return Answer(body=json.dumps(document).encode())


def list_or_answer(request: dict[str, Any]) -> Answer:
    """A list of distinct strings for the generator, an answer for the parent."""
    text = request["messages"][-1]["content"]
    if request["model"] == "generator":
        words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
        stem = "questions about" if "uestion" in text else "part"
        return completion(json.dumps([f"{word} {stem} {len(text) % 97} {word}?" for word in words]))
    return completion(f"An answer to: {text}")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no fault of the endpoint."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def llm_api(reply: Callable[[dict[str, Any]], Answer] = list_or_answer) -> Iterator[Endpoint]:
    """Serve `reply(request body)` for every completion until the block ends; the listing is empty."""
    endpoint = Endpoint(base_url="")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send(Answer(body=b'{"data":[]}'))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.authorization = self.headers.get("Authorization", "")
            endpoint.requests.append(body)
            self.send(reply(body))

        def send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # an interrupted client is gone
                self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
            if answer.cut:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
