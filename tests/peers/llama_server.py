"""The real llama.cpp server, in this process, on a GGUF file and a free loopback port."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PEER = "xllamacpp"


def require_llama_server() -> None:
    """Skips a test where the server is not installed; in CI that is a failure."""
    if importlib.util.find_spec(PEER) is None:
        if os.environ.get("CI"):
            pytest.fail(f"the peer {PEER} is missing")
        pytest.skip(f"the peer {PEER} is not installed")


@contextmanager
def serve_gguf(path: Path) -> Iterator[str]:
    """Serves a file with one slot and one thread; gives the server's base URL."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.port = 0
    params.n_parallel = 1
    params.warmup = False
    params.use_jinja = True
    params.verbosity = 0
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    try:
        yield server.listening_address
    finally:
        del server
