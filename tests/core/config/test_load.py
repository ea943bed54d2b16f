"""Loading: files that cannot be read, the form of errors, standard variables, and no value in any of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overbrainer_core.assets import template
from overbrainer_core.config.env import Environment, read_environment
from overbrainer_core.config.load import NO_PROJECT, load_settings, parse_settings
from overbrainer_core.config.settings import RunpodTarget, Settings, SshTarget
from overbrainer_core.errors import ConfigError, describe
from overbrainer_core.project.paths import ProjectPaths

Lines = Callable[..., list[str]]
Parse = Callable[..., Settings]
EMPTY = Environment(values={})


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    return ProjectPaths(tmp_path)


def failure(paths: ProjectPaths, environment: Environment = EMPTY) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(paths, environment)
    return describe(caught.value)


def test_a_file_and_its_text_give_the_same(paths: ProjectPaths, base: str) -> None:
    paths.config.write_text(base)
    assert load_settings(paths, EMPTY) == parse_settings(base, EMPTY)
    paths.config.write_text(base + "[pipeline]\nseed = 'x'\n[training]\n")
    with pytest.raises(ConfigError) as of_text:
        parse_settings(base + "[pipeline]\nseed = 'x'\n[training]\n", EMPTY)
    assert failure(paths) == str(of_text.value)


def test_a_byte_order_mark_and_carriage_returns_are_fine(paths: ProjectPaths, base: str) -> None:
    paths.config.write_bytes(b"\xef\xbb\xbf" + base.replace("\n", "\r\n").encode())
    assert load_settings(paths, EMPTY).project_name == "demo"


def test_a_missing_file_is_told_once(paths: ProjectPaths) -> None:
    assert failure(paths) == f"cannot read {paths.config}: No such file or directory{NO_PROJECT}"


def test_a_directory_a_fifo_and_bytes_that_are_not_utf8_are_refused(paths: ProjectPaths) -> None:
    paths.config.mkdir()
    assert failure(paths) == f"cannot read {paths.config}: Is a directory"
    paths.config.rmdir()
    os.mkfifo(paths.config)
    assert failure(paths) == f"cannot read {paths.config}: it is not a regular file"
    paths.config.unlink()
    paths.config.write_bytes("[project]".encode("utf-16"))
    assert failure(paths) == f"cannot read {paths.config}: stream did not contain valid UTF-8"


def test_five_megabytes_load(paths: ProjectPaths, base: str) -> None:
    paths.config.write_text(base + "# a comment that fills the file, again and again\n" * 100_000)
    assert load_settings(paths, EMPTY).project_name == "demo"


def test_one_problem_is_one_line_and_several_are_a_line_each(parse: Parse) -> None:
    with pytest.raises(ConfigError) as one:
        parse("[pipeline]\nseed = true\n")
    assert describe(one.value) == "invalid configuration: pipeline.seed: has the wrong type, expected an integer"
    with pytest.raises(ConfigError) as two:
        parse("[pipeline]\nconcurrency = 0\neval_ratio = 1\n")
    assert describe(two.value) == (
        "invalid configuration:\n  pipeline.concurrency: must be at least 1\n  pipeline.eval_ratio: must be in (0, 1)"
    )
    assert [problem.path for problem in two.value.problems] == ["pipeline.concurrency", "pipeline.eval_ratio"]


def test_ten_thousand_problems_are_a_text_that_can_be_read(parse: Parse) -> None:
    topic = '[[topics]]\nname = "same"\nsubtopics = 1\nquestions_per_subtopic = 1\n'
    with pytest.raises(ConfigError) as caught:
        parse(topic * 10_000)
    assert describe(caught.value).splitlines()[1:51] == ["  topics: duplicate name `same`"] * 50
    assert describe(caught.value).endswith("\n  and 9949 more")
    with pytest.raises(ConfigError) as caught:
        parse("".join(topic.replace("same", f"t{n}").replace("= 1", "= 0", 1) for n in range(10_000)))
    lines = str(caught.value).splitlines()
    assert len(lines) == 52
    assert lines[-1] == "  and 9950 more"
    assert len(caught.value.problems) == 10_000


def test_variables_below_one_wrong_key_are_told_once(parse: Parse) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(OVERBRAINER_TOPICS__0__NAME="a", OVERBRAINER_TOPICS__0__SUBTOPICS="1")
    assert len(caught.value.problems) == 1


def test_an_error_keeps_nothing_of_the_text(parse: Parse) -> None:
    for text in ("[pipeline]\nseed = 'hidden'\n", "hidden hidden", "[training]\nadapter = 'hidden'\n"):
        with pytest.raises(ConfigError) as caught:
            parse(text)
        error: BaseException | None = caught.value
        while error is not None:
            assert "hidden" not in str(error)
            assert "hidden" not in repr(error)
            error = error.__cause__ or error.__context__


def test_settings_show_no_secret(parse: Parse) -> None:
    settings = parse(
        OVERBRAINER_HF_TOKEN="hidden1",
        OVERBRAINER_PROVIDERS__OPEN__API_KEY="hidden2",
        OVERBRAINER_RUNPOD__API_KEY="hidden3",
    )
    assert "hidden" not in repr(settings)
    assert "hidden" not in f"{settings}"


# Templates


def test_the_template_is_valid_without_any_environment() -> None:
    settings = parse_settings(template("overbrainer.toml"), EMPTY)
    assert settings.project_name == "my_project"
    assert [(topic.name, topic.subtopics, topic.questions_per_subtopic) for topic in settings.topics] == [
        ("ownership", 10, 30)
    ]
    assert settings.providers["openrouter"].protocol == "openai"
    assert settings.roles.parent.reasoning
    assert settings.training is not None
    assert (settings.training.target, settings.training.base_model) == ("local", "Qwen/Qwen3-4B")
    assert settings.training.adapter == "qlora"
    assert settings.targets["local"].kind == "local"
    assert settings.pipeline == type(settings.pipeline)()


UNCOMMENT = re.compile(r"^# (?=\[|[a-z_]+ = )", re.MULTILINE)


def uncommented(*, keep: tuple[str, ...]) -> str:
    """The template with every commented key in force, but for the keys of `keep` in `[targets.local]`."""
    head, middle, rest = template("overbrainer.toml").partition("[targets.local]")
    local, comment, rest = rest.partition("\n\n")
    for key in keep:
        local = local.replace(f"# {key} = ", f"## {key} = ")
    return UNCOMMENT.sub("", head) + middle + UNCOMMENT.sub("", local) + comment + UNCOMMENT.sub("", rest)


def test_every_commented_line_of_the_template_is_valid_when_uncommented() -> None:
    native = parse_settings(uncommented(keep=("engine", "image", "gpus")), EMPTY)
    docker = parse_settings(uncommented(keep=("venv",)).replace('runtime = "native"', 'runtime = "docker"'), EMPTY)
    assert native.roles.embedder is not None
    assert native.roles.judge is not None
    assert set(docker.targets) == {"local", "homelab", "gpu_cloud"}
    assert isinstance(docker.targets["gpu_cloud"], RunpodTarget)
    shown = native.file_keys | docker.file_keys
    from overbrainer_core.config import schema

    hidden = {"hub_model_id", "host", "base_url", "api_key"}
    for section in ("pipeline", "training", "export", "hub", "compare", "metrics"):
        keys = set(schema.SINGLE_TABLES[section].fields) - hidden
        assert {f"{section}.{key}" for key in keys} <= shown, section
    for name, kind in (("local", "local"), ("homelab", "ssh"), ("gpu_cloud", "runpod")):
        keys = set(schema.TARGET_TABLES[kind].fields) - hidden - ({"venv"} if kind == "ssh" else set())
        assert {f"targets.{name}.{key}" for key in keys} <= shown, name


def test_the_defaults_shown_in_the_template_are_the_defaults() -> None:
    shown = parse_settings(uncommented(keep=("engine", "image", "gpus")), EMPTY)
    plain = parse_settings(template("overbrainer.toml"), EMPTY)
    assert shown.training is not None
    assert plain.training is not None
    for name in ("epochs", "learning_rate", "lora_r", "optimizer", "evals_per_epoch", "merge", "sample_packing"):
        assert getattr(shown.training, name) == getattr(plain.training, name)
    assert shown.pipeline.embedding_threshold == plain.pipeline.embedding_threshold


def test_the_environment_example_is_valid_with_every_line_uncommented(paths: ProjectPaths) -> None:
    text = re.sub(r"^# (?=[A-Z_]+=)", "", template("env.example"), flags=re.MULTILINE)
    paths.env.write_text(text)
    homelab = "[targets.homelab]\nkind = 'ssh'\nruntime = 'docker'\n"
    cloud = "[targets.gpu_cloud]\nkind = 'runpod'\ngpu_types = 'auto'\nmax_hours = 1\n"
    environment = read_environment(paths, {})
    settings = parse_settings(template("overbrainer.toml") + homelab + cloud, environment)
    assert settings.providers["openrouter"].base_url == "https://openrouter.ai/api/v1"
    key = settings.providers["openrouter"].api_key
    assert key is not None
    assert key.is_reference
    pod = settings.targets["gpu_cloud"]
    assert isinstance(pod, RunpodTarget)
    assert pod.values["gpu_types"] == ("NVIDIA A40", "NVIDIA L40S")
    assert {"VAULT_ADDR", "VAULT_TOKEN", "OVERBRAINER_LOG", "OVERBRAINER_HF_TOKEN"} <= set(environment.values)


def test_the_demo_is_valid_and_played(paths: ProjectPaths) -> None:
    paths.env.write_text(template("demo.env"))
    settings = parse_settings(template("demo.toml"), read_environment(paths, {}))
    assert settings.providers["demo"].base_url == "demo:"
    assert [(topic.name, topic.subtopics) for topic in settings.topics] == [
        ("countries", 8),
        ("elements", 8),
        ("moons", 4),
    ]
    assert {topic.questions_per_subtopic for topic in settings.topics} == {36}
    assert not any(re.search(r"\d", topic.description or "") for topic in settings.topics)
    assert settings.training is not None
    assert (settings.training.trainer, settings.training.base_model) == ("tiny", "tiny-0.5m")


# Environment-wide choices


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://API.openai.com:443/v1", "OPENAI_API_KEY"),
        ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ],
)
def test_a_providers_key_falls_back_to_its_standard_variable(parse: Parse, url: str, variable: str) -> None:
    settings = parse(OVERBRAINER_PROVIDERS__OPEN__BASE_URL=url, **{variable: "k"})
    key = settings.providers["open"].api_key
    assert key is not None
    assert key.reveal() == "k"
    assert settings.standard_variables == {"providers.open.api_key": variable}


@pytest.mark.parametrize("url", ["http://api.openai.com", "https://api.openai.com.evil.example", "https://[", "demo:"])
def test_a_standard_key_goes_to_its_own_host_only(parse: Parse, url: str) -> None:
    settings = parse(OVERBRAINER_PROVIDERS__OPEN__BASE_URL=url, OPENAI_API_KEY="k")
    assert settings.providers["open"].api_key is None


def test_the_other_standard_variables_are_fallbacks_too(parse: Parse) -> None:
    settings = parse(HF_TOKEN="h", RUNPOD_API_KEY="r")
    assert settings.standard_variables == {"runpod.api_key": "RUNPOD_API_KEY", "hf_token": "HF_TOKEN"}
    own = parse(HF_TOKEN="h", OVERBRAINER_HF_TOKEN="own", RUNPOD_API_KEY=" ")
    assert own.standard_variables == {}
    assert own.hf_token is not None
    assert own.hf_token.reveal() == "own"
    assert own.tables["runpod"]["api_key"] is None


def test_the_ssh_client_variable_wins_over_the_key(parse: Parse) -> None:
    text = (
        "[targets.lab]\nkind = 'ssh'\nruntime = 'docker'\nssh_client = 'builtin'\n"
        "[targets.gpu]\nkind = 'runpod'\ngpu_types = 'auto'\nmax_hours = 1\n"
    )
    settings = parse(text, OVERBRAINER_SSH_CLIENT="openssh")
    lab, pod = settings.targets["lab"], settings.targets["gpu"]
    assert isinstance(lab, SshTarget)
    assert isinstance(pod, RunpodTarget)
    assert (lab.ssh_client, pod.values["ssh_client"]) == ("openssh", "openssh")
    with pytest.raises(ConfigError, match="OVERBRAINER_SSH_CLIENT"):
        parse(text, OVERBRAINER_SSH_CLIENT="putty")


def test_importing_the_light_modules_loads_no_pydantic() -> None:
    names = "config.load, overbrainer_core.config.report, overbrainer_core.config.reload, overbrainer_core.project.lock"
    heavy = "('pydantic', 'pydantic_core', 'httpx', 'tomllib')"
    code = f"import sys, overbrainer_core.{names}\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_paths_and_odd_names_are_kept_as_they_are(parse: Parse) -> None:
    for model in ("/data/models/Quill-9.5b", "./out/merged", "~/m x"):
        training = parse(f"[training]\ntarget = 'here'\nbase_model = '{model}'\nadapter = 'lora'\n").training
        assert training is not None
        assert training.base_model == model
    topic = parse('[[topics]]\nname = "a\\u202eb"\nsubtopics = 1\nquestions_per_subtopic = 1\n').topics[0]
    assert topic.name == "a\u202eb"


def test_a_device_in_the_place_of_the_file_is_refused(paths: ProjectPaths) -> None:
    paths.config.symlink_to("/dev/zero")
    assert failure(paths) == f"cannot read {paths.config}: it is not a regular file"


@pytest.mark.parametrize("rate", [("2e-4", 2e-4), ("1e-7", 1e-7), ("3e20", 3e20), ("1", 1.0)])
def test_numbers_keep_their_value(parse: Parse, rate: tuple[str, float]) -> None:
    training = parse(
        f"[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'lora'\nlearning_rate = {rate[0]}\n"
    ).training
    assert training is not None
    assert training.learning_rate == rate[1]
