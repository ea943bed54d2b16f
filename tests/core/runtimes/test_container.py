"""Command lines of Docker and Podman, checked as text and as what the engine is given."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.runtimes.base import Runtime, ScriptPlan
from overbrainer_core.runtimes.container import ContainerRuntime, UnmountableDirectoryError
from overbrainer_core.shell import quote
from overbrainer_core.values.job import Container, JobCommand
from tests.peers.shells import Shell, eventually, every_shell, run_script

TRAIN = JobCommand(program="axolotl", arguments=("train", "axolotl.yaml"))
ENVIRONMENT = (
    ("AXOLOTL_DO_NOT_TRACK", "1"),
    ("PYTHONPATH", "/workspace/run/plugin"),
    ("OVERBRAINER_METRICS", "/workspace/run/metrics.jsonl"),
    ("OVERBRAINER_SNAPSHOT", "/workspace/run/snapshot.request"),
)
CHAIN = (
    """trap 'trap "" TERM; kill -s TERM 0' TERM; { trap 'exit 143' TERM; 'axolotl' 'train' 'axolotl.yaml'; } & """
    'while :; do wait "$!"; ob_code=$?; kill -s 0 "$!" 2>/dev/null || exit "$ob_code"; done'
)


def plan(work: str = "/srv", *, caches_tools: bool = False, run_id: str = "demo_1") -> ScriptPlan:
    """A plan like that of a training with a token."""
    return ScriptPlan(
        run_id=run_id,
        directory=f"{work}/{run_id}",
        workdir=work,
        commands=(TRAIN,),
        environment=ENVIRONMENT,
        secret_names=("HF_TOKEN",),
        caches_tools=caches_tools,
    )


def runtime(engine: str, gpus: str = "all") -> ContainerRuntime:
    """A runtime of this engine."""
    return ContainerRuntime(engine=engine, image="img@sha256:0f", gpus=gpus)


def test_the_exact_text_for_docker() -> None:
    assert runtime("docker").script(plan()) == (
        "mkdir -p -- '/srv/.hf-cache' && 'docker' run --rm --name 'overbrainer-demo_1'"
        " --gpus all --ulimit memlock=-1 --ulimit stack=67108864 --ipc=host"
        " -v '/srv/demo_1:/workspace/run' -v '/srv/.hf-cache:/workspace/hf-cache' -w /workspace/run"
        " -e HF_HOME=/workspace/hf-cache -e 'AXOLOTL_DO_NOT_TRACK=1' -e 'PYTHONPATH=/workspace/run/plugin'"
        " -e 'OVERBRAINER_METRICS=/workspace/run/metrics.jsonl'"
        " -e 'OVERBRAINER_SNAPSHOT=/workspace/run/snapshot.request' -e 'HF_TOKEN' 'img@sha256:0f'"
        f" sh -c {quote(CHAIN)}"
    )


def test_the_exact_text_for_podman_with_the_tools_cache() -> None:
    text = runtime("podman").script(plan(caches_tools=True))
    assert text.startswith(
        "mkdir -p -- '/srv/.hf-cache' '/srv/.cache' && 'podman' run --rm --name 'overbrainer-demo_1'"
        " --device 'nvidia.com/gpu=all' --security-opt=label=disable --ulimit host --ipc=host"
        " -v '/srv/demo_1:/workspace/run:Z' -v '/srv/.hf-cache:/workspace/hf-cache:z'"
        " -v '/srv/.cache:/workspace/cache:z' -e OVERBRAINER_CACHE=/workspace/cache -w /workspace/run"
        " -e HF_HOME=/workspace/hf-cache "
    )


def given(shell: Shell, tmp_path: Path, engine: str, script: str) -> tuple[list[str], str]:
    """The arguments that the engine gets, and what it finds in its environment."""
    program = tmp_path / "bin" / engine
    program.parent.mkdir(exist_ok=True)
    recorder = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('HF_TOKEN')]))"
    program.write_text(f'#!/bin/sh\nexec python3 -c "{recorder}" "$@"\n')
    program.chmod(0o755)
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HF_TOKEN": "s3cret"}
    ended = run_script(shell, script, env=env)
    assert ended.returncode == 0, ended.stderr
    arguments, token = json.loads(ended.stdout)
    return arguments, token


@every_shell
@pytest.mark.parametrize(
    ("engine", "devices", "own", "shared"),
    [
        ("docker", ["--gpus", "all", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"], "", ""),
        ("podman", ["--device", "nvidia.com/gpu=all", "--security-opt=label=disable", "--ulimit", "host"], ":Z", ":z"),
    ],
)
def test_the_engine_gets_the_known_arguments_and_no_secret(
    shell: Shell, engine: str, devices: list[str], own: str, shared: str, tmp_path: Path
) -> None:
    work = str(tmp_path / "it's a $dir")
    arguments, token = given(shell, tmp_path, engine, runtime(engine).script(plan(work)))
    assert arguments == [
        "run", "--rm", "--name", "overbrainer-demo_1", *devices, "--ipc=host",
        "-v", f"{work}/demo_1:/workspace/run{own}", "-v", f"{work}/.hf-cache:/workspace/hf-cache{shared}",
        "-w", "/workspace/run", "-e", "HF_HOME=/workspace/hf-cache", "-e", "AXOLOTL_DO_NOT_TRACK=1",
        "-e", "PYTHONPATH=/workspace/run/plugin", "-e", "OVERBRAINER_METRICS=/workspace/run/metrics.jsonl",
        "-e", "OVERBRAINER_SNAPSHOT=/workspace/run/snapshot.request", "-e", "HF_TOKEN",
        "img@sha256:0f", "sh", "-c", CHAIN,
    ]  # fmt: skip
    assert token == "s3cret"
    assert Path(work, ".hf-cache").is_dir()


@pytest.mark.parametrize(
    ("engine", "gpus", "words"),
    [
        ("docker", "none", []),
        ("docker", "0,1", ["--gpus", "'\"device=0,1\"'", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"]),
        ("docker", "0, 2", ["--gpus", "'\"device=0,2\"'", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"]),
        ("podman", "none", ["--security-opt=label=disable", "--ulimit", "host"]),
        (
            "podman",
            "0,1",
            [
                "--device",
                "'nvidia.com/gpu=0'",
                "--device",
                "'nvidia.com/gpu=1'",
                "--security-opt=label=disable",
                "--ulimit",
                "host",
            ],
        ),
    ],
)
def test_gpus_are_given_as_asked(engine: str, gpus: str, words: list[str]) -> None:
    text = runtime(engine, gpus).script(plan())
    between = text.split("--name 'overbrainer-demo_1' ")[1].split("--ipc=host")[0]
    assert between.split() == words


def test_nothing_but_the_run_directory_and_the_caches_is_mounted() -> None:
    for engine in ("docker", "podman"):
        words = runtime(engine).script(plan(caches_tools=True)).split()
        mounts = [words[index + 1].strip("'").split(":")[0] for index, word in enumerate(words) if word == "-v"]
        assert mounts == ["/srv/demo_1", "/srv/.hf-cache", "/srv/.cache"]


def test_a_path_with_a_colon_is_refused_before_anything_starts() -> None:
    docker = runtime("docker")
    docker.check_directory("/fine")
    with pytest.raises(UnmountableDirectoryError, match="holds a colon, which docker cannot mount"):
        docker.check_directory("/a:b/demo_1")
    with pytest.raises(UnmountableDirectoryError):
        docker.script(plan("/a:b"))


def test_the_job_sees_one_root_and_the_container_has_the_runs_name() -> None:
    podman: Runtime = runtime("podman")
    assert podman.root("/anything") == "/workspace/run"
    assert podman.container("demo_1") == Container(engine="podman", name="overbrainer-demo_1")


def test_no_command_is_no_container() -> None:
    empty = ScriptPlan(run_id="x", directory="/r", workdir="/w", commands=())
    assert runtime("docker").script(empty) == ""


def first_process(shell: Shell, tmp_path: Path, body: str, *, merges: bool = False) -> subprocess.Popen[bytes]:
    """The first process of a container with a trainer of this text, in a session of its own."""
    trainer = tmp_path / "axolotl"
    trainer.write_text(f"#!/bin/sh\n{body}\n")
    trainer.chmod(0o755)
    commands = (TRAIN, JobCommand(program="axolotl", arguments=("merge-lora",))) if merges else (TRAIN,)
    words = shlex.split(runtime("docker").script(replace(plan(str(tmp_path)), commands=commands)))
    assert words[-3:-1] == ["sh", "-c"]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.Popen([*shell, "-c", words[-1]], cwd=tmp_path, env=env, start_new_session=True)


@every_shell
@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("code", [0, 7])
def test_a_stop_of_the_container_reaches_the_trainer_and_waits_for_it(
    shell: Shell, merges: bool, code: int, tmp_path: Path
) -> None:
    body = f"echo $1 >> calls\ntrap 'sleep 0.2; echo ended >> calls; exit {code}' TERM\n: > up\nsleep 20 & wait"
    process = first_process(shell, tmp_path, body, merges=merges)
    eventually((tmp_path / "up").exists)
    process.terminate()
    assert process.wait(timeout=10) in (code, 143)
    assert (tmp_path / "calls").read_text() == "train\nended\n"


@every_shell
@pytest.mark.parametrize("code", [0, 1, 137])
def test_the_first_process_ends_as_the_trainer_does(shell: Shell, code: int, tmp_path: Path) -> None:
    assert first_process(shell, tmp_path, f"exit {code}").wait(timeout=10) == code


@every_shell
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (125, 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'),
        (125, 'Conflict. The container name "/overbrainer-demo_1" is already in use by container "c0ffee12".'),
        (126, "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"),
        (126, "Error: lsetxattr /mnt/nfs/runs/ID: operation not supported"),
    ],
)
def test_a_refusal_of_the_engine_is_the_jobs_exit_code_and_its_words_are_kept(
    shell: Shell, code: int, text: str, tmp_path: Path
) -> None:
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\nexit {code}\n")
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = run_script(shell, runtime("docker").script(plan(str(tmp_path / "w"))), env=env)
    assert (ended.returncode, ended.stderr.strip()) == (code, text)
