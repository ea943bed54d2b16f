"""A session holds the lock while it is open, and takes changed settings as a whole or not at all."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.config.load import load_settings
from overbrainer_core.errors import ConfigError, LockedError
from overbrainer_core.events.types import Event, ItemDone, StageModel, StageStarted
from overbrainer_core.flows.session import open_session
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Stage
from tests.peers.program import write_project


class Listener:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def on_close(self) -> None:
        self.events.clear()


async def test_a_session_locks_its_project_until_it_ends(tmp_path: Path) -> None:
    write_project(tmp_path)
    async with open_session(tmp_path, process_env={}) as session:
        assert session.is_locked
        assert session.settings.project_name == "e2e"
        with pytest.raises(LockedError) as caught:
            async with open_session(tmp_path, process_env={}):
                pass
        assert caught.value.pid == os.getpid()
        async with open_session(tmp_path, process_env={}, lock=False) as beside:
            assert not beside.is_locked
    async with open_session(tmp_path, process_env={}):
        pass


async def test_a_directory_that_is_no_project_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        async with open_session(tmp_path, process_env={}):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_a_newer_format_is_refused_for_writing_only(tmp_path: Path) -> None:
    write_project(tmp_path)
    ProjectPaths(tmp_path).version.write_text("2\n")
    with pytest.raises(ConfigError, match="format 2"):
        async with open_session(tmp_path, process_env={}):
            pass
    async with open_session(tmp_path, process_env={}, lock=False) as session:
        assert session.settings.project_name == "e2e"


async def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    write_project(tmp_path)
    async with open_session(tmp_path, process_env={"OVERBRAINER_PIPELINE__CONCURRENCY": "3"}) as session:
        assert session.settings.pipeline.concurrency == 3


async def test_every_bus_has_the_observers_of_the_session(tmp_path: Path) -> None:
    write_project(tmp_path)
    listener = Listener()
    event = StageModel(stage=Stage.ANSWERS, model="m")
    async with open_session(tmp_path, process_env={}, observers=[listener]) as session:
        session.new_bus().publish(event)
        session.new_bus().publish(event)
    assert listener.events == [event, event]


async def test_changed_settings_are_taken_once(tmp_path: Path) -> None:
    write_project(tmp_path)
    config = ProjectPaths(tmp_path).config
    async with open_session(tmp_path, process_env={}) as session:
        assert not session.reload_if_changed()
        config.write_text(config.read_text().replace("concurrency = 2", "concurrency = 7"))
        assert session.reload_if_changed()
        assert session.settings.pipeline.concurrency == 7
        assert not session.reload_if_changed()


async def test_an_invalid_change_leaves_the_settings_in_force(tmp_path: Path) -> None:
    write_project(tmp_path)
    config = ProjectPaths(tmp_path).config
    async with open_session(tmp_path, process_env={}) as session:
        config.write_text("[project]\n")
        with pytest.raises(ConfigError):
            session.reload_if_changed()
        assert session.settings.pipeline.concurrency == 2


async def test_a_session_never_shows_its_environment(tmp_path: Path) -> None:
    write_project(tmp_path)
    async with open_session(tmp_path, process_env={"OVERBRAINER_HF_TOKEN": "hf_secret"}) as session:
        assert "hf_secret" not in repr(session)


async def test_a_change_made_while_the_files_were_read_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path)
    config = ProjectPaths(tmp_path).config
    real = load_settings

    def meanwhile(*arguments: Any) -> Any:
        settings = real(*arguments)
        config.write_text(config.read_text().replace('"e2e"', '"later"'))
        return settings

    monkeypatch.setattr("overbrainer_core.flows.session.load_settings", meanwhile)
    async with open_session(tmp_path, process_env={}) as session:
        assert session.settings.project_name == "e2e"
        assert session.reload_if_changed()
        assert session.settings.project_name == "later"


async def scrape(address: str) -> str:
    """What the endpoint of a session answers."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n")
    writer.write_eof()
    found = await reader.read()
    writer.close()
    return found.decode().partition("\r\n\r\n")[2]


def listening(root: Path, listen: str = "127.0.0.1:0") -> None:
    """A project that serves its metrics."""
    write_project(root)
    with (root / "overbrainer.toml").open("a") as file:
        file.write(f'\n[metrics]\nlisten = "{listen}"\n')


async def test_metrics_are_served_while_the_lock_is_held(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    listening(tmp_path)
    ProjectPaths(tmp_path).history.write_text(
        '{"stage":"answers","started_at":"","ended_at":"","status":"ok","provider":"here","model":"parent","done":3,'
        '"skipped":0,"failed":0,"excluded":0,"input_tokens":5,"output_tokens":6,"cost":0.5}\n'
    )
    caplog.set_level("INFO")
    async with open_session(tmp_path, process_env={}) as session:
        address = caplog.records[-1].getMessage().removeprefix("metrics at http://").removesuffix("/metrics")
        first, second = session.new_bus(), session.new_bus()
        first.publish(StageStarted(stage=Stage.ANSWERS, total=2))
        second.publish(ItemDone(stage=Stage.ANSWERS, id="a"))
        text = await scrape(address)
        assert 'overbrainer_stage_items_total{stage="answers",result="done"} 3\n' in text
        assert 'overbrainer_stage_items_total{stage="answers",result="skipped"} 1\n' in text
        assert 'overbrainer_cost_usd_total{stage="answers",model="parent"} 0.5\n' in text
        second.close()
        assert 'overbrainer_stage_running{stage="answers"} 1\n' in await scrape(address)
        first.close()
        assert 'overbrainer_stage_running{stage="answers"} 0\n' in await scrape(address)
    with pytest.raises(OSError):
        await scrape(address)


async def test_who_holds_no_lock_serves_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    listening(tmp_path)
    caplog.set_level("INFO")
    async with open_session(tmp_path, process_env={}, lock=False) as session:
        assert session.bus_observers == ()
    assert "metrics" not in caplog.text


async def test_an_endpoint_that_cannot_be_served_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listening(tmp_path, f"127.0.0.1:{taken.getsockname()[1]}")
        async with open_session(tmp_path, process_env={}) as session:
            assert session.is_locked
    assert "cannot serve the metrics on" in caplog.text
