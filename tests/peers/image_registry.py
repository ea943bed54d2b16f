"""A registry of container images on a loopback port: it hands out one image, or refuses as real ones do."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


class ImageRegistry:
    """What the registry answers; `refusal` is a status, a code and a message for every manifest that is asked for."""

    def __init__(self) -> None:
        self.refusal: tuple[int, str, str] | None = None
        self.asked: list[str] = []
        self.address = ""
        self._documents: dict[str, tuple[str, bytes]] = {}

    @property
    def image(self) -> str:
        """The reference of its image."""
        return f"{self.address}/trainer:1"

    def hold(self, archive: bytes) -> None:
        """Hand out an image of one layer, a tar archive."""
        layer = self._keep(_LAYER, archive)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": self._keep(_CONFIG, json.dumps(config).encode()),
            "layers": [layer],
        }
        self._documents["1"] = self._documents[self._keep(_MANIFEST, json.dumps(manifest).encode())["digest"]]

    def _keep(self, kind: str, content: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._documents[digest] = (kind, content)
        return {"mediaType": kind, "size": len(content), "digest": digest}

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, kind and content for a path."""
        self.asked.append(path)
        if path == "/v2/":
            return 200, "application/json", b"{}"
        if self.refusal is not None:
            status, code, message = self.refusal
            return status, "application/json", json.dumps({"errors": [{"code": code, "message": message}]}).encode()
        kind, content = self._documents.get(path.rpartition("/")[2], ("", b""))
        return (200, kind, content) if kind else (404, "application/json", b'{"errors":[]}')


@contextmanager
def image_registry() -> Iterator[ImageRegistry]:
    """A registry that holds nothing yet."""
    registry = ImageRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, kind, content = registry.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if kind == _MANIFEST:
                self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(content).hexdigest()}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            """The registry is silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
