"""How close does the `answers` stage come to a bare aiohttp loop that makes the same requests?

Run by hand: `python tests/benchmarks/bench_answers.py [IN_FLIGHT ...]` (64, 256 and 1024). A server in a process of its
own answers each request after 200 ms. Both ways run one after the other, twice; the ratio is that of their best times,
start and end of the stage included.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import aiohttp

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.clock import SystemClock
from overbrainer_core.config.env import Environment
from overbrainer_core.config.reload import take_stamp
from overbrainer_core.config.settings import Pipeline, Provider, Role, Roles, SecretText, Settings, Topic
from overbrainer_core.events.bus import EventBus
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session
from overbrainer_core.flows.stages import StageCommand
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Stage

LATENCY_S = 0.2
WAVES = 16
"""Requests made for each one in flight."""
REPEATS = 2

SERVER = """
import asyncio, sys
LATENCY = float(sys.argv[1])
CONTENT = "x" * 1500
BODY = ('{"choices":[{"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}],'
        '"usage":{"prompt_tokens":40,"completion_tokens":300}}' % CONTENT).encode()
REPLY = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(BODY) + BODY

class Server(asyncio.Protocol):
    def __init__(self):
        self.buffer = b""
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\\r\\n\\r\\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15:].split(b"\\r\\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length:]
            asyncio.get_running_loop().call_later(LATENCY if length else 0, self.reply)
    def reply(self):
        if not self.transport.is_closing():
            self.transport.write(REPLY)

async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


async def bare(base_url: str, questions: list[str], in_flight: int) -> float:
    """Seconds of a loop that only asks and decodes."""
    pending = iter(questions)
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work() -> None:
            for text in pending:
                body = json.dumps(
                    {
                        "model": "m",
                        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}],
                        "max_tokens": 16384,
                    }
                )
                headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
                async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
                    assert (await response.json())["choices"]

        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(work())
        return time.perf_counter() - started


async def stage(base_url: str, questions: list[str], in_flight: int, root: Path) -> tuple[float, float]:
    """Seconds, and seconds of CPU, of the stage."""
    paths = ProjectPaths(root)
    paths.data.mkdir(parents=True)
    lines = [
        json.dumps({"id": f"{number:032x}", "topic": "tea", "subtopic_id": "s", "subtopic": "S", "text": text})
        for number, text in enumerate(questions)
    ]
    paths.questions.write_text("\n".join(lines) + "\n")
    role = Role(provider="main", model="m")
    settings = Settings(
        project_name="bench",
        topics=(Topic(name="tea", subtopics=1, questions_per_subtopic=1),),
        providers={"main": Provider(name="main", protocol="openai", base_url=base_url, api_key=SecretText("k"))},
        roles=Roles(generator=role, parent=role),
        pipeline=Pipeline(concurrency=in_flight),
    )
    session = Session(
        paths=paths,
        environment=Environment(values={}),
        settings=settings,
        stamp=take_stamp(paths),
        process_env={},
        clock=SystemClock(),
    )
    with EventBus() as bus:
        subscription = bus.subscribe()
        async with StageCommand(session, bus=bus, report=CollectedReport(), interrupt=Interrupt()) as command:
            cpu = time.process_time()
            outcome = await command.run(Stage.ANSWERS)
            cpu = time.process_time() - cpu
        subscription.take_nowait()
    assert outcome.stats.done == len(questions)
    return outcome.seconds, cpu


async def measure(base_url: str, in_flight: int) -> None:
    """Print the ratio for so many requests in flight."""
    questions = [f"What happens to leaf number {number} in hot water?" for number in range(in_flight * WAVES)]
    ideal = len(questions) / in_flight * LATENCY_S
    best_bare = best_stage = float("inf")
    cpu_ms = 0.0
    for _ in range(REPEATS):
        best_bare = min(best_bare, await bare(base_url, questions, in_flight))
        with tempfile.TemporaryDirectory() as directory:
            seconds, cpu = await stage(base_url, questions, in_flight, Path(directory))
        if seconds < best_stage:
            best_stage, cpu_ms = seconds, cpu * 1000 / len(questions)
    print(
        f"{in_flight} in flight: {best_bare / best_stage:.3f} of bare aiohttp "
        f"({len(questions) / best_stage:.0f} and {len(questions) / best_bare:.0f} a second, "
        f"ideal {len(questions) / ideal:.0f}), {cpu_ms:.2f} ms of CPU an answer"
    )


def main() -> None:
    """Measure each number of requests in flight."""
    command = [sys.executable, "-c", SERVER, str(LATENCY_S)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        base_url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        for in_flight in [int(argument) for argument in sys.argv[1:]] or [64, 256, 1024]:
            asyncio.run(measure(base_url, in_flight))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
